#include "app/gui/draw/boxes.hpp"

#include <cstddef>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/window/embedded.hpp"

namespace sluice::gui::draw {

box_batch::~box_batch() {
  if (buffer_ != 0) glDeleteBuffers(1, &buffer_);
  if (vertex_array_ != 0) glDeleteVertexArrays(1, &vertex_array_);
}

box_batch::box_batch(box_batch&& other) noexcept { *this = std::move(other); }

box_batch& box_batch::operator=(box_batch&& other) noexcept {
  std::swap(origin_, other.origin_);
  std::swap(count_, other.count_);
  std::swap(capacity_, other.capacity_);
  std::swap(vertex_array_, other.vertex_array_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

void box_batch::assign(query::time_ns origin, const std::vector<box>& boxes) {
  origin_ = origin;
  count_ = boxes.size();
  if (count_ == 0) return;
  if (vertex_array_ == 0) {
    glGenVertexArrays(1, &vertex_array_);
    glGenBuffers(1, &buffer_);
    GLint previous = 0;
    glGetIntegerv(GL_VERTEX_ARRAY_BINDING, &previous);
    glBindVertexArray(vertex_array_);
    glBindBuffer(GL_ARRAY_BUFFER, buffer_);
    const auto attribute = [](GLuint index, std::size_t offset) {
      glEnableVertexAttribArray(index);
      glVertexAttribDivisor(index, 1);
      return reinterpret_cast<const void*>(offset);
    };
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, sizeof(box), attribute(0, offsetof(box, begin)));
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, sizeof(box), attribute(1, offsetof(box, low)));
    glVertexAttribPointer(2, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(box), attribute(2, offsetof(box, colour)));
    glVertexAttribIPointer(3, 1, GL_UNSIGNED_INT, sizeof(box), attribute(3, offsetof(box, style)));
    glBindVertexArray(static_cast<GLuint>(previous));
  }
  glBindBuffer(GL_ARRAY_BUFFER, buffer_);
  const auto bytes = static_cast<GLsizeiptr>(count_ * sizeof(box));
  if (count_ > capacity_) {
    capacity_ = count_ + count_ / 2;
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(capacity_ * sizeof(box)), nullptr, GL_DYNAMIC_DRAW);
  }
  glBufferSubData(GL_ARRAY_BUFFER, 0, bytes, boxes.data());
}

struct box_renderer::call {
  box_renderer* renderer;
  unsigned vertex_array;
  GLsizei count;
  float origin_ns;
  float pixels_per_ns;
  rectangle area;
  float units;
  ImU32 background;
};

result<void> box_renderer::start() {
  auto built =
      gl::program::build("box", embedded::text(embedded::box_vertex()), embedded::text(embedded::box_fragment()));
  if (!built) return tl::unexpected(built.error());
  program_ = std::move(*built);
  origin_ns_ = program_.uniform("origin_ns");
  pixels_per_ns_ = program_.uniform("pixels_per_ns");
  area_ = program_.uniform("area");
  units_ = program_.uniform("units");
  viewport_ = program_.uniform("viewport");
  background_ = program_.uniform("background");
  pitch_ = program_.uniform("pitch");
  return {};
}

void box_renderer::add(ImDrawList& list, const box_batch& batch, const rectangle& area, query::time_range visible,
                       float units, ImU32 background) {
  if (batch.count_ == 0 || visible.length() <= 0 || area.width() < 1 || area.height() < 1 || !(units > 0)) return;
  call what{this,
            batch.vertex_array_,
            static_cast<GLsizei>(batch.count_),
            static_cast<float>(batch.origin_ - visible.begin),
            static_cast<float>(static_cast<double>(area.width()) / static_cast<double>(visible.length())),
            area,
            units,
            background};
  list.PushClipRect(area.min, area.max, true);
  list.AddCallback(&box_renderer::run, &what, sizeof what);
  list.AddCallback(ImGui::GetPlatformIO().DrawCallback_ResetRenderState, nullptr);
  list.PopClipRect();
}

void box_renderer::run(const ImDrawList* /*list*/, const ImDrawCmd* command) {
  const call& what = *static_cast<const call*>(command->UserCallbackData);
  what.renderer->render(what, *command);
}

void box_renderer::render(const call& what, const ImDrawCmd& command) {
  const ImDrawData* frame = ImGui::GetDrawData();
  const ImVec2 scale = frame->FramebufferScale;
  const float height = frame->DisplaySize.y * scale.y;
  const ImVec4 clip(
      (command.ClipRect.x - frame->DisplayPos.x) * scale.x, (command.ClipRect.y - frame->DisplayPos.y) * scale.y,
      (command.ClipRect.z - frame->DisplayPos.x) * scale.x, (command.ClipRect.w - frame->DisplayPos.y) * scale.y);
  if (clip.z <= clip.x || clip.w <= clip.y) return;
  glScissor(static_cast<GLint>(clip.x), static_cast<GLint>(height - clip.w), static_cast<GLsizei>(clip.z - clip.x),
            static_cast<GLsizei>(clip.w - clip.y));
  glDisable(GL_BLEND);
  glUseProgram(program_.id());
  glUniform1f(origin_ns_, what.origin_ns);
  glUniform1f(pixels_per_ns_, what.pixels_per_ns * scale.x);
  glUniform4f(area_, (what.area.min.x - frame->DisplayPos.x) * scale.x,
              (what.area.min.y - frame->DisplayPos.y) * scale.y, what.area.width() * scale.x,
              what.area.height() * scale.y);
  glUniform1f(units_, what.units);
  glUniform2f(viewport_, frame->DisplaySize.x * scale.x, height);
  const ImVec4 behind = ImGui::ColorConvertU32ToFloat4(what.background);
  glUniform4f(background_, behind.x, behind.y, behind.z, 1);
  glUniform1f(pitch_, 6.0F * scale.x);
  glBindVertexArray(what.vertex_array);
  glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, what.count);
}

}  // namespace sluice::gui::draw
