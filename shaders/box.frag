#version 330 core
flat in vec4 paint;
flat in uint pattern;
uniform vec4 background;     // background behind hatched and dimmed boxes
uniform float pitch;         // distance of hatch lines in pixels
out vec4 result;

void main() {
  vec3 ink = paint.rgb;
  if ((pattern & 2u) != 0u) {
    float stripe = mod(gl_FragCoord.x + gl_FragCoord.y, pitch);
    ink = mix(background.rgb, ink, stripe < pitch * 0.3 ? 0.62 : 0.36);
  }
  if ((pattern & 4u) != 0u) ink = mix(background.rgb, ink, 0.38);
  result = vec4(ink, 1.0);
}
