#include "app/gui/draw/boxes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/window/embedded.hpp"

namespace sluice::gui::draw {

void simplify(std::vector<box>& boxes, float units, float rows) {
  if (!(units > 0) || !(rows >= 1)) return;
  const float per_row = units / rows;
  const auto make_row = [per_row](float value) { return std::floor(value / per_row + 0.5F); };
  // The last box of each height, indexed by the height's hash. A collision only means that adjacent boxes are not
  // joined.
  std::array<std::size_t, 64> last{};
  last.fill(SIZE_MAX);
  std::size_t kept = 0;
  for (box now : boxes) {
    const float low = make_row(now.low);
    const float high = now.high > now.low ? std::max(make_row(now.high), low + 1) : low;
    now.low = low * per_row;
    now.high = high * per_row;
    std::size_t& before = last[(std::bit_cast<std::uint32_t>(low) * 2'654'435'761U) >> 26U];
    if (before != SIZE_MAX && now.style == 0) {
      box& joined = boxes[before];
      if (joined.style == 0 && joined.end == now.begin && joined.begin < joined.end && joined.low == now.low &&
          joined.high == now.high && joined.colour == now.colour) {
        joined.end = now.end;
        continue;
      }
    }
    before = kept;
    boxes[kept++] = now;
  }
  boxes.resize(kept);
}

box_batch::~box_batch() {
  if (buffer_ != 0) glDeleteBuffers(1, &buffer_);
  if (indices_ != 0) glDeleteBuffers(1, &indices_);
  if (vertex_array_ != 0) glDeleteVertexArrays(1, &vertex_array_);
}

box_batch::box_batch(box_batch&& other) noexcept { *this = std::move(other); }

box_batch& box_batch::operator=(box_batch&& other) noexcept {
  std::swap(origin_, other.origin_);
  std::swap(count_, other.count_);
  std::swap(capacity_, other.capacity_);
  std::swap(patterned_, other.patterned_);
  std::swap(vertex_array_, other.vertex_array_);
  std::swap(buffer_, other.buffer_);
  std::swap(indices_, other.indices_);
  return *this;
}

/// Uses four vertices per box, which indices combine into two triangles. Instancing would need less code, but software
/// GL sets up a separate draw for each instance.
void box_batch::assign(time_ns origin, const std::vector<box>& boxes) {
  origin_ = origin;
  count_ = boxes.size();
  if (count_ == 0) return;
  GLint previous = 0;
  glGetIntegerv(GL_VERTEX_ARRAY_BINDING, &previous);
  if (vertex_array_ == 0) {
    glGenVertexArrays(1, &vertex_array_);
    glGenBuffers(1, &buffer_);
    glGenBuffers(1, &indices_);
    glBindVertexArray(vertex_array_);
    glBindBuffer(GL_ARRAY_BUFFER, buffer_);
    const auto attribute = [](GLuint index, std::size_t offset) {
      glEnableVertexAttribArray(index);
      return reinterpret_cast<const void*>(offset);
    };
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, sizeof(box), attribute(0, offsetof(box, begin)));
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, sizeof(box), attribute(1, offsetof(box, low)));
    glVertexAttribPointer(2, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(box), attribute(2, offsetof(box, colour)));
    glVertexAttribIPointer(3, 1, GL_UNSIGNED_INT, sizeof(box), attribute(3, offsetof(box, style)));
  }
  glBindVertexArray(vertex_array_);
  glBindBuffer(GL_ARRAY_BUFFER, buffer_);
  if (count_ > capacity_) grow();
  static thread_local std::vector<box> corners;
  corners.clear();
  std::uint32_t styles = 0;
  for (const box& each : boxes) {
    corners.insert(corners.end(), 4, each);
    styles |= each.style;
  }
  patterned_ = (styles & (hatched | dimmed)) != 0;
  glBufferSubData(GL_ARRAY_BUFFER, 0, static_cast<GLsizeiptr>(corners.size() * sizeof(box)), corners.data());
  glBindVertexArray(static_cast<GLuint>(previous));
}

/// Allocates space for the boxes and their indices. The batch's vertex array and buffer must be bound.
void box_batch::grow() {
  capacity_ = count_ + count_ / 2;
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(capacity_ * 4 * sizeof(box)), nullptr, GL_DYNAMIC_DRAW);
  std::vector<GLuint> indices;
  indices.reserve(capacity_ * 6);
  for (GLuint first = 0; indices.size() < capacity_ * 6; first += 4)
    for (const GLuint corner : {0U, 1U, 2U, 0U, 2U, 3U}) indices.push_back(first + corner);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices_);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, static_cast<GLsizeiptr>(indices.size() * sizeof(GLuint)), indices.data(),
               GL_STATIC_DRAW);
}

struct box_renderer::call {
  const shader* with;
  unsigned vertex_array;
  GLsizei count;
  float origin_ns;
  float pixels_per_ns;
  rectangle area;
  float units;
  ImU32 background;
};

result<box_renderer::shader> box_renderer::build(std::string_view fragment) {
  auto built = gl::program::build("box", embedded::text(embedded::box_vertex()), fragment);
  if (!built) return tl::unexpected(built.error());
  shader output;
  output.program = std::move(*built);
  output.origin_ns = output.program.uniform("origin_ns");
  output.pixels_per_ns = output.program.uniform("pixels_per_ns");
  output.area = output.program.uniform("area");
  output.units = output.program.uniform("units");
  output.viewport = output.program.uniform("viewport");
  output.background = output.program.uniform("background");
  output.pitch = output.program.uniform("pitch");
  return output;
}

result<void> box_renderer::start() {
  auto plain = build(embedded::text(embedded::plain_fragment()));
  if (!plain) return tl::unexpected(plain.error());
  auto patterned = build(embedded::text(embedded::box_fragment()));
  if (!patterned) return tl::unexpected(patterned.error());
  plain_ = std::move(*plain);
  patterned_ = std::move(*patterned);
  return {};
}

void box_renderer::add(ImDrawList& list, const box_batch& batch, const rectangle& area, time_range visible, float units,
                       ImU32 background) {
  if (batch.count_ == 0 || visible.length() <= 0 || area.width() < 1 || area.height() < 1 || !(units > 0)) return;
  call subject{batch.patterned_ ? &patterned_ : &plain_,
               batch.vertex_array_,
               static_cast<GLsizei>(batch.count_),
               static_cast<float>(batch.origin_ - visible.begin),
               static_cast<float>(static_cast<double>(area.width()) / static_cast<double>(visible.length())),
               area,
               units,
               background};
  list.PushClipRect(area.min, area.max, true);
  list.AddCallback(&box_renderer::run, &subject, sizeof subject);
  list.AddCallback(ImGui::GetPlatformIO().DrawCallback_ResetRenderState, nullptr);
  list.PopClipRect();
}

void box_renderer::run(const ImDrawList* /*list*/, const ImDrawCmd* command) {
  const call& subject = *static_cast<const call*>(command->UserCallbackData);
  render(subject, *command);
}

void box_renderer::render(const call& subject, const ImDrawCmd& command) {
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
  const shader& with = *subject.with;
  glUseProgram(with.program.id());
  glUniform1f(with.origin_ns, subject.origin_ns);
  glUniform1f(with.pixels_per_ns, subject.pixels_per_ns * scale.x);
  glUniform4f(with.area, (subject.area.min.x - frame->DisplayPos.x) * scale.x,
              (subject.area.min.y - frame->DisplayPos.y) * scale.y, subject.area.width() * scale.x,
              subject.area.height() * scale.y);
  glUniform1f(with.units, subject.units);
  glUniform2f(with.viewport, frame->DisplaySize.x * scale.x, height);
  const ImVec4 behind = ImGui::ColorConvertU32ToFloat4(subject.background);
  glUniform4f(with.background, behind.x, behind.y, behind.z, 1);
  glUniform1f(with.pitch, 6.0F * scale.x);
  glBindVertexArray(subject.vertex_array);
  glDrawElements(GL_TRIANGLES, subject.count * 6, GL_UNSIGNED_INT, nullptr);
}

}  // namespace sluice::gui::draw
