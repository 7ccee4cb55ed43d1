#include "instrumentation/writer/handlers/declaration_handler.hpp"

#include <string.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "instrumentation/writer/handlers/record_words.hpp"
#include "instrumentation/writer/record_decoder/messages.hpp"

namespace sluice::writer {

using namespace trace;

void declaration_handler::handle(ring_source& ring, const record_view& record) {
  switch (record.type) {
    case ring::record_type::string:
      return handle_string(record);
    case ring::record_type::thread:
      return handle_thread(ring, record);
    case ring::record_type::recorder_threads:
      return handle_recorder_threads(ring, record);
    case ring::record_type::pool_stream:
      names_.define_pool_stream(decode<ring::pool_stream_record>(record));
      return;
    case ring::record_type::frame:
      return handle_frame(ring, record);
    case ring::record_type::module:
      stacks_.define(ring.process->stacks, decode<ring::module_record>(record));
      return;
    case ring::record_type::stack:
      return handle_stack(ring, record);
    default:
      return;
  }
}

bool declaration_handler::handle(const record_context& c, const record_view& record) {
  process_names& names = c.process.names;
  switch (record.type) {
    case ring::record_type::device:
      names_.define(names, decode<ring::device_record>(record));
      return true;
    case ring::record_type::context:
      names_.define(names, decode<ring::context_record>(record));
      return true;
    case ring::record_type::stream:
      names_.define(names, decode<ring::stream_record>(record));
      return true;
    case ring::record_type::counter:
      names_.define(names, decode<ring::counter_record>(record));
      return true;
    case ring::record_type::mode:
      names_.define(names, decode<ring::mode_record>(record));
      return true;
    default:
      return false;
  }
}

void declaration_handler::handle_string(const record_view& record) {
  const auto r = decode<ring::string_record>(record);
  const std::span<const std::byte> text = bytes_after<ring::string_record>(record);
  if (r.length > text.size() || r.length > ring::maximum_text_bytes) return;
  names_.define_text(r.key, {reinterpret_cast<const char*>(text.data()), r.length});
}

void declaration_handler::handle_thread(ring_source& ring, const record_view& record) {
  const auto r = decode<ring::thread_record>(record);
  ring.tid = r.tid;
  ring.of_recorder = (r.header.flags & ring::flag_of_recorder) != 0;
  if (ring.is_of_recorder()) {
    ring.thread = thread_id::none;
    return;
  }
  ring.thread = names_.thread(ring.process->names, r.tid, {r.name, strnlen(r.name, sizeof r.name)});
}

void declaration_handler::handle_recorder_threads(ring_source& ring, const record_view& record) {
  const auto r = decode<ring::recorder_threads_record>(record);
  recorded_process& process = *ring.process;
  if (r.count > ring::max_recorder_threads || r.version < process.recorder_threads_version) return;
  process.recorder_threads_version = r.version;
  process.recorder_threads.clear();
  for_each_group_after<ring::recorder_threads_record>(
      record, r.count, [&](const auto& word) { process.recorder_threads.insert(word[0]); });
}

void declaration_handler::handle_frame(ring_source& ring, const record_view& record) {
  if (!stacks_.define(ring.process->stacks, decode<ring::frame_record>(record))) notice_left_out_stack();
}

void declaration_handler::handle_stack(ring_source& ring, const record_view& record) {
  const auto r = decode<ring::stack_record>(record);
  std::vector<std::uint64_t> frames;
  frames.reserve(count_groups_after<ring::stack_record>(record, r.count));
  for_each_group_after<ring::stack_record>(record, r.count, [&](const auto& word) { frames.push_back(word[0]); });
  if (!stacks_.define(ring.process->stacks, r.key, frames, r.base)) notice_left_out_stack();
}

void declaration_handler::notice_left_out_stack() {
  if (std::exchange(stacks_left_out_, true)) return;
  write_message(file_, clock_.now(), severity::warning,
                "a process has too many distinct call stacks: later ones are not recorded");
}

}  // namespace sluice::writer
