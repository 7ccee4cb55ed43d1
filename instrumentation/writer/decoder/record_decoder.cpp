#include "instrumentation/writer/decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

record_decoder::record_decoder(file_writer& file, const clock_anchor& start, const record_decoder_options& options)
    : file_(file),
      clock_(start, options.simulated),
      turn_{.simulated = options.simulated},
      names_(file, options.table_bytes),
      stacks_(file, names_),
      processes_(file),
      blocks_(file),
      checkpoints_(file, processes_, clock_, options.checkpoint_every),
      losses_(file, processes_, clock_, checkpoints_),
      dumps_(processes_, options.notice_failures, options.max_device_bytes),
      limit_(file, processes_, clock_, blocks_, checkpoints_, options.ring_bytes),
      queue_(clock_),
      declarations_(file, names_, stacks_, clock_),
      memory_(file, names_, stacks_, clock_, turn_, blocks_, checkpoints_, losses_, dumps_),
      live_sets_(names_, clock_, turn_, blocks_, checkpoints_),
      work_(file, names_, stacks_, clock_, turn_),
      graphs_(file, names_, clock_, blocks_),
      host_(file, names_, clock_, losses_),
      samples_(file, names_, stacks_, clock_) {
  if (!options.simulated) file_.add(clock_.take_anchor(start));
}

recorded_process& record_decoder::add_process(const producer_identity& identity, std::uint64_t pid) {
  const process_id parent = processes_.find_parent(identity);
  recorded_process& process = processes_.add();
  names_.add_process(process.names, identity, pid, parent, now());
  process.stacks.owner = process.names.id;
  return process;
}

void record_decoder::resume(const dropped_rows& lost) {
  losses_.count_dropped(lost);
  checkpoints_.write(now());
}

// ------------------------------------------------------------------------------------------------------------- turns

void record_decoder::advance(const clock_anchor& present) {
  clock_.advance(present);
  if (clock_.needs_anchor()) file_.add(clock_.take_anchor(present));
  for (const record_queue::drained_span& drained : queue_.drained()) {
    drained.ring->process->heard = true;
    if (!queue_.sort_in(drained, declarations_)) losses_.add_broken(*drained.ring);
  }
  process_due();
  checkpoints_.consider_requested();
  settle(false);
  samples_.settle(false);
  ++turn_.turns;
  queue_.end_turn();
}

void record_decoder::finish(const clock_anchor& present) {
  advance(present);
  process_due();
  settle(true);
  samples_.settle(true);
  for (const auto& process : processes_) process->ranges.finish();
  if (!processes_.empty()) write_live_set();
}

void record_decoder::process_due() {
  queue_.process_due([this](const record_queue::batch& batch) { process(batch); });
  losses_.write_streamless();
}

// ----------------------------------------------------------------------------------------------------------- records

namespace {

/// Passes a record to `handle`, in place if possible.
template <class Handler, class Record>
inline void hand_on(Handler& handler, void (Handler::*handle)(const record_context&, const Record&),
                    const record_context& c, const record_head& head, const std::byte* record) {
  Record spare;
  (handler.*handle)(c, view(head, record, spare));
}

/// True for records of what a thread does on the host.
bool is_host_activity(ring::record_type type) {
  switch (type) {
    case ring::record_type::api_call:
    case ring::record_type::sync:
    case ring::record_type::range:
    case ring::record_type::range_begin:
    case ring::record_type::range_end:
    case ring::record_type::marker:
    case ring::record_type::file_io:
      return true;
    default:
      return false;
  }
}

}  // namespace

void record_decoder::process(const record_queue::batch& batch) {
  const record_queue::speaker& who = batch.who;
  record_context c{*who.process, who.thread, who.tid, who.clock, who.copy, 0, 0};
  for (const record_queue::pending& pending : batch.records) {
    const std::byte* const record = batch.record(pending);
    const record_head head = head_at(record);
    c.flags = head.flags;
    c.time = pending.time;
    ++turn_.records;
    clock_.reach(c.time);
    if (who.of_recorder && is_host_activity(head.type)) [[unlikely]] {
      // A call is also joined with its device work, which is kept.
      if (head.type == ring::record_type::api_call) {
        ring::api_call_record spare;
        work_handler::handle_call_of_recorder(c, view(head, record, spare));
      }
      continue;
    }
    if (dispatch_frequent(c, head, record)) {
      ++device_events_;
    } else {
      dispatch(c, sound_record_at(record));
    }
    if (clock_.is_simulated()) settle(false);
  }
}

/// Handles the most frequent record types. Returns false for any other type.
inline bool record_decoder::dispatch_frequent(const record_context& c, const record_head& head,
                                              const std::byte* record) {
  switch (head.type) {
    case ring::record_type::alloc:
      hand_on(memory_, &memory_handler::handle_alloc, c, head, record);
      return true;
    case ring::record_type::free:
      hand_on(memory_, &memory_handler::handle_free, c, head, record);
      return true;
    case ring::record_type::framework_alloc:
      hand_on(memory_, &memory_handler::handle_framework_alloc, c, head, record);
      return true;
    case ring::record_type::framework_free:
      hand_on(memory_, &memory_handler::handle_framework_free, c, head, record);
      return true;
    case ring::record_type::pool_stream_alloc:
      hand_on(memory_, &memory_handler::handle_pool_stream_alloc, c, head, record);
      return true;
    case ring::record_type::pool_stream_free:
      hand_on(memory_, &memory_handler::handle_pool_stream_free, c, head, record);
      return true;
    case ring::record_type::touch:
      graphs_.handle_touch(c, sound_record_at(record));
      return true;
    case ring::record_type::api_call:
      hand_on(work_, &work_handler::handle_api_call, c, head, record);
      return true;
    case ring::record_type::kernel:
      hand_on(work_, &work_handler::handle_kernel, c, head, record);
      return true;
    default:
      return false;
  }
}

void record_decoder::dispatch(const record_context& c, const record_view& record) {
  if (memory_.handle(c, record) || live_sets_.handle(c, record) || work_.handle(c, record) ||
      graphs_.handle(c, record)) {
    ++device_events_;
    return;
  }
  // These records count as no event of the device.
  switch (record.type) {
    case ring::record_type::pool:
      return live_sets_.handle_pool(c, decode<ring::pool_record>(record));
    case ring::record_type::graph_definition:
      return graphs_.handle_graph_definition(c, decode<ring::graph_definition_record>(record));
    case ring::record_type::watermark:
      return work_.handle_watermark(c, decode<ring::watermark_record>(record));
    default:
      if (!declarations_.handle(c, record)) host_.handle(c, record);
  }
}

}  // namespace sluice::writer
