#version 330 core
// Boxes without a pattern. Software GL has a fast path for shaders as short as this.
in vec4 paint;
out vec4 result;

void main() { result = paint; }
