#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/remote/sql_host.hpp"

namespace sluice::gui {

/// A recording that `document_loader` has opened.
struct loaded_recording {
  document_id id{};
  std::string path;
  std::shared_ptr<trace::file> file;
  std::string title;  ///< Set only for an address; otherwise empty.
  // For a recording opened by an address: see `document`.
  std::shared_ptr<trace::byte_source> source;
  std::shared_ptr<query::sql_host> host;
};

/// Opens recordings in the background, each on its own thread. First imports a foreign file, or summarizes a large
/// unfinished recording. Use on one thread.
class document_loader {
 public:
  /// `wake` is called when the progress has changed or a recording is open. It must be callable from any thread.
  explicit document_loader(std::function<void()> wake);
  /// Cancels everything that is being opened, and waits until it has stopped.
  ~document_loader();
  document_loader(const document_loader&) = delete;
  document_loader& operator=(const document_loader&) = delete;

  struct options {
    std::size_t memory_bytes = query::engine_options{}.memory_bytes;
    std::vector<std::string> sources_from;
    std::shared_ptr<trace::byte_source> bytes;  ///< The recording's bytes; null if they are in the file at the path.
  };
  /// Starts to open `path`, or an address (core/remote/address.hpp). Errors: those of `worker_thread::start_or_run`.
  [[nodiscard]] result<void> start(document_id id, const std::string& path, options with);
  /// Returns the recordings that have been opened since the last call, and the errors of those that could not be
  /// opened. Leaves out what the user has cancelled.
  [[nodiscard]] std::vector<result<loaded_recording>> take_finished();
  /// Cancels the opening of all files. Their import or summary stops soon afterwards.
  void cancel();
  /// Cancels the opening of all files, and waits until it has stopped.
  void stop();

  /// The number of recordings that are being opened, or are open but not taken yet.
  [[nodiscard]] std::size_t count() const { return loads_.size(); }
  // These describe the recording whose opening was started last.
  [[nodiscard]] const std::string& path() const;
  /// Progress of the import or summary, 0..1. 0 while the file is only being opened.
  [[nodiscard]] float progress() const;
  /// Describes what is being done to the file, e.g. "Importing a.json".
  [[nodiscard]] std::string words() const;

 private:
  struct load;

  std::function<void()> wake_;
  std::vector<std::unique_ptr<load>> loads_;
};

}  // namespace sluice::gui
