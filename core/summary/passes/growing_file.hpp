#pragma once

#include <memory>
#include <utility>

#include "core/base/files/scratch_file.hpp"
#include "core/summary/memory_limit.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::summary {

/// Reads the part of a file that its writer has written so far.
class written_so_far {
 public:
  /// `file_writer` must be the same writer in each call.
  result<std::shared_ptr<const trace::snapshot>> snapshot(trace::file_writer& file_writer) {
    if (auto flushed = file_writer.flush(); !flushed) return tl::unexpected(flushed.error());
    if (!reader_) {
      auto opened = trace::file::open(file_writer.path(), {.cache_bytes = summaries_cache, .for_its_writer = true});
      if (!opened) return tl::unexpected(opened.error());
      reader_ = std::move(*opened);
    } else if (auto more = reader_->refresh(); !more) {
      return tl::unexpected(more.error());
    }
    return reader_->latest();
  }

 private:
  std::shared_ptr<trace::file> reader_;
};

/// A scratch file that is written and read at the same time.
class growing_file {
 public:
  static result<growing_file> make() {
    auto scratch = scratch_file::make();
    if (!scratch) return tl::unexpected(scratch.error());
    auto writer = trace::file_writer::create(*scratch);
    if (!writer) return tl::unexpected(writer.error());
    return growing_file(std::move(*scratch), std::move(*writer));
  }

  [[nodiscard]] trace::file_writer& writer() { return writer_; }
  result<std::shared_ptr<const trace::snapshot>> snapshot() { return so_far_.snapshot(writer_); }

 private:
  growing_file(scratch_file scratch, trace::file_writer writer)
      : scratch_(std::move(scratch)), writer_(std::move(writer)) {}
  scratch_file scratch_;
  trace::file_writer writer_;
  written_so_far so_far_;
};

}  // namespace sluice::summary
