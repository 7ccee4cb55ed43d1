// Decodes stored metrics and prints their report: decoded metrics must be safe to print.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "app/cli/report/report_output.hpp"
#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::digest {
namespace {

/// Adds at least one event of each kind that stored metrics describe.
void tell(trace::file_writer& file_writer) {
  trace::process_row process;
  process.id = trace::process_id{1};
  process.command = file_writer.intern("python train.py");
  file_writer.add(process);
  trace::frame_row frame;
  frame.id = trace::frame_id{1};
  frame.kind = trace::frame_kind::python;
  frame.function = file_writer.intern("forward");
  frame.file = file_writer.intern("/home/me/model.py");
  file_writer.add(frame);
  trace::stack_row stack;
  stack.id = trace::stack_id{1};
  stack.frame = frame.id;
  file_writer.add(stack);
  const auto with = [](auto row, trace::time_ns time) {
    row.time = time;
    row.process = trace::process_id{1};
    row.thread = trace::thread_id{1};
    return row;
  };
  for (int i = 0; i < 4; ++i) {
    const trace::time_ns now = 1000 + i * 1000;
    auto step = with(trace::marker_event{}, now);
    step.step = i;
    file_writer.add(step);
    auto born = with(trace::alloc_event{}, now + 10);
    born.block = static_cast<trace::block_id>(i + 1);
    born.bytes = 1 << 20;
    born.kind = trace::memory_kind::device;
    born.layer = trace::layer::framework;
    born.device = trace::device_id{1};
    born.stack = stack.id;
    file_writer.add(born);
    auto touched = with(trace::touch_event{}, now + 20);
    touched.block = born.block;
    touched.name = file_writer.intern("gemm");
    file_writer.add(touched);
    auto call = with(trace::api_call_event{}, now + 30);
    call.end = now + 40;
    call.name = file_writer.intern("cuMemcpyHtoDAsync_v2");
    call.stack = stack.id;
    auto copy = with(trace::transfer_event{}, now + 50);
    copy.call = trace::event_id{file_writer.add(call)};
    copy.end = now + 90;
    copy.bytes = 1 << 21;
    copy.direction = trace::direction::h2d;
    copy.source_kind = trace::memory_kind::host;
    copy.device = trace::device_id{1};
    copy.content = trace::content_check::exact;
    copy.content_hash = 7;
    file_writer.add(copy);
    auto kernel = with(trace::kernel_event{}, now + 100);
    kernel.end = now + 300;
    kernel.name = file_writer.intern("gemm");
    kernel.device = trace::device_id{1};
    file_writer.add(kernel);
  }
  auto failed = with(trace::alloc_failed_event{}, 6000);
  failed.bytes = 1 << 30;
  failed.error = 2;
  file_writer.add(failed);
  auto lost = with(trace::loss_event{}, 6001);
  lost.events = 3;
  file_writer.add(lost);
}

/// The recording that the stored metrics describe.
std::shared_ptr<const trace::snapshot> recording() {
  static const auto kept = [] {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("sluice-fuzz-digest-" + std::to_string(::getpid()))).string();
    auto output = trace::file_writer::create(path, {}).value();
    tell(output);
    if (!output.close()) __builtin_trap();
    auto file = trace::file::open(path).value();
    std::filesystem::remove(path);
    return file->latest();
  }();
  return kept;
}

void run(std::span<const std::uint8_t> input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  auto read = summary::decode_stored_metrics(bytes);
  if (!read) return;
  const auto again = summary::encode_stored_metrics(*read);
  if (!again || !summary::decode_stored_metrics(*again)) __builtin_trap();
  symbols::frame_cache book;
  const auto snapshot = recording();
  const metrics::report shown = metrics::make_report(std::move(read->metrics), *snapshot, {book});
  const cli::report_subject subject{shown, snapshot->tables(), "fuzzed"};
  if (cli::report_text(subject).empty() || cli::report_json(subject).empty()) __builtin_trap();
}

std::vector<bytes> seeds() {
  const auto snapshot = recording();
  index::growing_index index;
  while (!index.absorb(*snapshot, 100)) {
  }
  const std::string text = summary::encode_stored_metrics(summary::make_stored_metrics(index, *snapshot)).value();
  return {bytes(text.begin(), text.end())};
}

}  // namespace
}  // namespace sluice::fuzz::digest

sluice::fuzz::target sluice::fuzz::digest_target() { return {"digest", digest::run, digest::seeds}; }
