#version 330 core
// Four vertices are the corners of one box of a track. A box is a kernel, a copy, a call, or a column of a chart. The
// vertices hold the same values and are told apart by their number. Times are ns relative to the batch's origin (GL 3.3
// has no 64-bit integers); `origin_ns` converts them to times since the view's start.
layout(location = 0) in vec2 time_ns;   // begin, end
layout(location = 1) in vec2 height;    // lower, upper, in units of the track
layout(location = 2) in vec4 colour;
layout(location = 3) in uint style;     // bit 0: leave a gap after it, bit 1: hatched, bit 2: dimmed,
                                        // bit 3: a dot in the middle of the upper edge

uniform float origin_ns;     // batch origin - view start
uniform float pixels_per_ns;
uniform vec4 area;           // x, y, width, height of the track in pixels; y points down
uniform float units;         // track units that fill the height
uniform vec2 viewport;       // pixels
uniform float pitch;         // distance of hatch lines in pixels; a dot is half as wide

flat out vec4 paint;
flat out uint pattern;

void main() {
  float left = area.x + (time_ns.x + origin_ns) * pixels_per_ns;
  float right = area.x + (time_ns.y + origin_ns) * pixels_per_ns;
  left = clamp(floor(left + 0.5), area.x - 1.0, area.x + area.z);
  right = clamp(floor(right + 0.5), area.x, area.x + area.z + 1.0);
  right = max(right, left + 1.0);                                  // nothing that happened is invisible
  if ((style & 1u) != 0u && right - left > 3.0) right -= 1.0;      // neighbours stay apart
  float bottom = area.y + area.w;
  float low = bottom - floor(height.x / units * area.w + 0.5);
  float high = bottom - floor(height.y / units * area.w + 0.5);
  if (height.y > height.x) high = min(high, low - 1.0);
  if ((style & 8u) != 0u) {
    float side = max(3.0, floor(pitch * 0.5));
    left = floor((left + right - side) * 0.5 + 0.5);
    right = left + side;
    high = floor(high - side * 0.5 + 0.5);
    low = high + side;
  }
  int number = gl_VertexID & 3;  // around the box, from its lower left corner
  vec2 corner = vec2(number == 0 || number == 3 ? left : right, number < 2 ? low : high);
  gl_Position = vec4(corner.x / viewport.x * 2.0 - 1.0, 1.0 - corner.y / viewport.y * 2.0, 0.0, 1.0);
  paint = colour;
  pattern = style;
}
