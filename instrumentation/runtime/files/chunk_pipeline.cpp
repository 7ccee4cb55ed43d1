#include "instrumentation/runtime/chunk_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/files/chunk_run.hpp"
#include "instrumentation/runtime/range.hpp"

namespace sluice::runtime {

const char* to_string(chunk_source source) noexcept {
  switch (source) {
    case chunk_source::automatic:
      return "automatic";
    case chunk_source::staged:
      return "staged";
    case chunk_source::registered:
      return "registered";
    case chunk_source::pinned:
      return "pinned";
  }
  return "";
}

struct chunk_pipeline::slots {
  std::vector<std::unique_ptr<chunk_slot>> all;
};

chunk_pipeline::chunk_pipeline(chunk_options options, const device_ref& device) : options_(options), device_(device) {
  if (options_.chunk_bytes == 0 || options_.depth == 0 || options_.readers == 0) {
    throw error({status::invalid_value, 0, "chunk_pipeline", "chunk_bytes, depth and readers must be at least 1"});
  }
  if (!options_.overlap) return;
  slots_ = std::make_unique<slots>();
  for (unsigned i = 0; i < options_.depth; ++i) {
    slots_->all.push_back(std::make_unique<chunk_slot>(options_.chunk_bytes, device_));
  }
}

chunk_pipeline::~chunk_pipeline() = default;
chunk_pipeline::chunk_pipeline(chunk_pipeline&&) noexcept = default;
chunk_pipeline& chunk_pipeline::operator=(chunk_pipeline&&) noexcept = default;

chunk_report chunk_pipeline::run(const mapped_file& in, mapped_file* out, const compute& work,
                                 const progress& on_progress, const std::stop_token& stop) const {
  if (out && out->size_bytes() < in.size_bytes()) {
    throw error({status::invalid_value, 0, "chunk_pipeline",
                 fmt::format("{} has {} bytes; the input has {}", out->path(), out->size_bytes(), in.size_bytes())});
  }
  if (out) (void)out->writable_bytes();  // throws now, not after the first piece, if it is read-only
  if (!options_.overlap) return run_plain(in, out, work, on_progress, stop);
  return chunk_run(options_, device_, slots_->all, in, out).run(work, on_progress, stop);
}

chunk_report chunk_pipeline::run_plain(const mapped_file& in, mapped_file* out, const compute& work,
                                       const progress& on_progress, const std::stop_token& stop) const {
  const stream_ref stream(device_);
  const std::size_t size = in.size_bytes();
  const std::size_t room = std::min(options_.chunk_bytes, size);
  device_buffer there(room, stream, "chunk");
  std::vector<std::byte> result(out ? room : 0);
  chunk_report report;
  for (std::size_t offset = 0; offset < size; offset += options_.chunk_bytes) {
    if (stop.stop_requested()) {
      report.stopped = true;
      break;
    }
    const scoped_range scope("chunk");
    const std::size_t bytes = std::min(options_.chunk_bytes, size - offset);
    try {
      in.require_whole();
      copy(there.data(), in.bytes().data() + offset, bytes, stream);
      work({report.chunks, offset, there.as<std::byte>().first(bytes)}, stream);
      stream.sync();
      if (out) {
        copy(result.data(), there.data(), bytes, stream);
        // Do not write into the mapping: on a full disk, that would raise SIGBUS.
        out->write_at(offset, std::span(result).first(bytes));
      }
    } catch (const error& e) {
      backend::failure failure = e.cause();
      if (out) failure.detail += fmt::format("; the first {} bytes of {} are complete", offset, out->path());
      throw chunk_error(std::move(failure), offset);
    }
    report.bytes += bytes;
    ++report.chunks;
    if (on_progress) on_progress(static_cast<double>(offset + bytes) / static_cast<double>(size));
  }
  return report;
}

}  // namespace sluice::runtime
