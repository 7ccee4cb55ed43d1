#version 330 core
// Boxes without a pattern: most of them. Software GL takes less time for a shader without branches.
flat in vec4 paint;
out vec4 result;

void main() { result = paint; }
