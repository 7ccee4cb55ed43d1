#version 330 core
// Draws boxes without a pattern, which most boxes are. Software GL takes less time for a shader without branches.
flat in vec4 paint;
out vec4 result;

void main() { result = paint; }
