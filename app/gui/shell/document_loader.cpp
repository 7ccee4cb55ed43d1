#include "app/gui/shell/document_loader.hpp"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/import/import.hpp"
#include "core/remote/address.hpp"
#include "core/summary/passes/finalize.hpp"

namespace sluice::gui {
namespace {

/// Size of each document's cache of chunks that are read repeatedly.
constexpr std::size_t chunk_cache_bytes = std::size_t{32} << 20;

}  // namespace

struct document_loader::load {
  loaded_recording recording;
  std::shared_ptr<trace::byte_source> bytes;  ///< See `options::bytes`.
  std::atomic<bool> finished = false;
  std::atomic<bool> cancelled = false;
  std::atomic<float> progress = 0;
  std::atomic<const char*> unfinished = nullptr;  ///< Why the recording is summarized; null if it is not.
  result<std::shared_ptr<trace::file>> opened = nullptr;
  std::mutex mutex;
  std::shared_ptr<query::sql_host> host;  ///< Guarded by `mutex`.
  worker_thread worker;

  void cancel() {
    cancelled = true;
    const std::scoped_lock lock(mutex);
    if (host && !finished) host->end();  // The worker may be waiting for bytes.
  }

  result<std::shared_ptr<trace::file>> open_by_address(const trace::reader_options& reading) {
    progress = 0.01F;  // Makes the window show a progress bar, and a button to cancel.
    auto reached = remote::open_address(recording.path, reading, [this] { return cancelled.load(); });
    if (!reached) return tl::unexpected(reached.error());
    recording.title = reached->title;
    recording.source = reached->source;
    recording.host = reached->host;
    const std::scoped_lock lock(mutex);
    host = reached->host;
    return reached->file;
  }

  void work(std::size_t memory_bytes, const std::vector<std::string>& sources_from, const std::function<void()>& wake) {
    const auto tell = [this, wake](double share) {
      progress = static_cast<float>(share);
      if (wake) wake();
    };
    importing::options with;
    with.cancel = &cancelled;
    with.progress = tell;
    const trace::reader_options reading{.cache_bytes = chunk_cache_bytes, .sources_from = sources_from};
    if (remote::is_address(recording.path)) {
      opened = open_by_address(reading);
    } else if (bytes && importing::recognise(recording.path) == importing::format::sluice) {
      opened = trace::file::open(std::move(bytes), reading);
    } else {
      opened = importing::open_any(recording.path, with, reading);
    }
    if (!opened) return;
    const auto trace = (*opened)->latest();
    const summary::unfinished_options summing{
        .memory_bytes = memory_bytes, .cancelled = [this] { return cancelled.load(); }, .progress = tell};
    if (summary::wants_summing_up(*trace, summing))
      unfinished =
          trace->growing() ? " is still being written: summarizing it so far" : " was cut short: summarizing it";
    const auto summed = summary::summed_up(trace, summing);
    if (!summed) {
      opened = tl::unexpected(summed.error());
    } else if (*summed != trace) {
      (*opened)->adopt(*summed);
    }
  }

  ~load() {
    cancel();
    worker.join();
  }
};

document_loader::document_loader(std::function<void()> wake) : wake_(std::move(wake)) {}
document_loader::~document_loader() = default;

result<void> document_loader::start(document_id id, const std::string& path, options with) {
  auto started = std::make_unique<load>();
  started->recording.id = id;
  started->recording.path = path;
  started->bytes = std::move(with.bytes);
  load* raw = started.get();
  const auto work = [raw, memory = with.memory_bytes, folders = std::move(with.sources_from), wake = wake_] {
    raw->work(memory, folders, wake);
    raw->finished = true;
    if (wake) wake();
  };
  if (auto running = started->worker.start_or_run(work, path); !running) return running;
  loads_.push_back(std::move(started));
  return {};
}

std::vector<result<loaded_recording>> document_loader::take_finished() {
  std::vector<result<loaded_recording>> finished;
  for (auto& each : loads_) {
    if (!each->finished) continue;
    if (each->opened) {
      each->recording.file = *each->opened;
      finished.emplace_back(std::move(each->recording));
    } else if (!each->cancelled && each->opened.error().code != error_code::cancelled) {
      finished.emplace_back(tl::unexpected(each->opened.error()));
    }
    each.reset();
  }
  std::erase(loads_, nullptr);
  return finished;
}

void document_loader::cancel() {
  for (const auto& each : loads_) each->cancel();
}

void document_loader::stop() { loads_.clear(); }

const std::string& document_loader::path() const {
  static const std::string none;
  return loads_.empty() ? none : loads_.back()->recording.path;
}

float document_loader::progress() const { return loads_.empty() ? 0 : loads_.back()->progress.load(); }

std::string document_loader::words() const {
  if (loads_.empty()) return {};
  if (remote::is_address(path())) return "Connecting to " + printable(path());
  const std::string name = printable(std::filesystem::path(path()).filename().string());
  const char* unfinished = loads_.back()->unfinished;
  return unfinished != nullptr ? name + unfinished : "Importing " + name;
}

}  // namespace sluice::gui
