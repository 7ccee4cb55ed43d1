#include "core/remote/live_source.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/threads/worker_thread.hpp"
#include "core/remote/connection.hpp"
#include "core/remote/copied_file.hpp"
#include "core/remote/frames.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The interval for checking for more data after everything was fetched. The recorder writes every tenth of a second.
constexpr milliseconds look_every{50};
/// The most time to wait for one reply, on a slow connection.
constexpr milliseconds most_waiting{60'000};
constexpr milliseconds first_fetch{1'000};
constexpr milliseconds max_silence{5'000};
constexpr std::uint64_t header_bytes = 64;

/// Fetches a recording in a thread of its own: first one file, then each file that replaces it. All sources that show
/// these files share one follower.
class follower {
 public:
  follower(std::shared_ptr<connection> source, std::string name, const copy_limits& limits)
      : from_(std::move(source)), name_(std::move(name)), room_(std::make_shared<copy_room>(limits)) {}
  ~follower() {
    stopping_ = true;
    from_->end();
    changed_.notify_all();
    thread_.join();
  }
  follower(const follower&) = delete;
  follower& operator=(const follower&) = delete;

  /// Errors: those of `worker_thread::start`.
  [[nodiscard]] result<void> start() {
    return thread_.start([this] { work(); }, name_);
  }

  /// Waits until there is data to show. Errors: see `follow_live`.
  [[nodiscard]] result<std::shared_ptr<const copied_file>> first(const std::function<bool()>& cancelled) {
    constexpr milliseconds look_at_cancel{50};
    const auto begin = steady::now();
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto passed = steady::now() - begin;
      const bool something = shown_ && shown_->bytes() >= header_bytes;
      if (something && (over_ || has_all_ || passed >= first_fetch)) return shown_;
      if (over_ && failure_) return fail(failure_->code, failure_->message, name_, failure_->hint);
      if (over_ || (!something && passed >= max_silence))
        return fail(error_code::unavailable, "nothing has been recorded yet", name_, "try again later");
      if (cancelled && cancelled()) return fail(error_code::cancelled, "the opening was cancelled", name_);
      changed_.wait_for(lock, look_at_cancel);
    }
  }

  [[nodiscard]] trace::byte_source::extent poll(const copied_file& file) {
    const std::scoped_lock lock(mutex_);
    trace::byte_source::extent output;
    output.bytes = file.bytes();
    output.growing = !over_ && shown_.get() == &file;
    if (over_ && shown_.get() == &file)
      if (const auto why = std::exchange(failure_, std::nullopt))
        output.remark =
            why->message + ": showing the recording up to then" + (why->hint.empty() ? "" : "; " + why->hint);
    return output;
  }

  /// Returns the file that replaced `file` once that file is complete, otherwise null.
  [[nodiscard]] std::shared_ptr<const copied_file> after(const copied_file& file) {
    const std::scoped_lock lock(mutex_);
    return shown_.get() == &file ? nullptr : shown_;
  }

 private:
  void work() {
    const auto done = fetch_all();
    const std::scoped_lock lock(mutex_);
    over_ = true;
    if (!done) {
      failure_ = done.error();
      from_->end();  // Later replies are not needed.
    }
    changed_.notify_all();
  }

  /// Fetches until the recording has ended. Errors: the reason why it cannot continue.
  result<void> fetch_all() {
    std::shared_ptr<copied_file> now;  ///< The file being fetched: the shown file, or its replacement.
    while (!stopping_) {
      const auto there = look_there(now ? now->generation() : 0);
      if (!there) return tl::unexpected(there.error());
      if (there->generation == 0) {  // Nothing has been recorded yet.
        if (there->growing == 0) return {};
        pause();
        continue;
      }
      if (!now) {
        auto output = copied_file::make(there->generation, room_);
        if (!output) return tl::unexpected(output.error());
        now = std::move(*output);
        const std::scoped_lock lock(mutex_);
        shown_ = now;  // The first file is shown while it grows. A replacement is shown once it is complete.
      }
      if (there->bytes < now->bytes()) now->cut(there->bytes);
      const bool was_behind = now->bytes() < there->bytes;
      if (auto fetched = fetch(*now, there->bytes); !fetched) return fetched;
      const bool replaced = there->newest != there->generation;
      const bool ended = there->growing == 0 && !replaced;
      show(now, ended);
      if (ended) return {};
      if (replaced) {
        auto built = copied_file::make(there->newest, room_);
        if (!built) return tl::unexpected(built.error());
        now = std::move(*built);
      } else if (!was_behind) {
        pause();
      }
    }
    return {};
  }

  /// Shows `file`, which has all existing bytes. `ended`: there will be no more bytes.
  void show(const std::shared_ptr<copied_file>& file, bool ended) {
    const std::scoped_lock lock(mutex_);
    shown_ = file;
    has_all_ = true;
    over_ = over_ || ended;
    changed_.notify_all();
  }

  result<extent_message> look_there(std::uint64_t generation) {
    const auto reply =
        from_->ask(frame_kind::look, get_bytes(look_message{generation}), frame_kind::extent, most_waiting);
    if (!reply) return tl::unexpected(reply.error());
    return extent_in(*reply, generation, name_);
  }

  result<void> fetch(copied_file& into, std::uint64_t to) {
    while (into.bytes() < to && !stopping_) {
      const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(to - into.bytes(), max_read));
      const auto reply = from_->ask(frame_kind::read, get_bytes(read_message{into.generation(), into.bytes(), most, 0}),
                                    frame_kind::bytes, most_waiting);
      if (!reply) return tl::unexpected(reply.error());
      if (reply->payload.size() > most) return fail(error_code::corrupt, "received more than requested", name_);
      if (reply->payload.empty()) return {};  // The recorder removed the bytes.
      if (auto added = into.add(reply->payload); !added) return added;
      changed_.notify_all();
    }
    return {};
  }

  void pause() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, look_every, [this] { return stopping_.load(); });
  }

  const std::shared_ptr<connection> from_;
  const std::string name_;
  const std::shared_ptr<copy_room> room_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // `mutex_` guards the members below.
  std::shared_ptr<const copied_file> shown_;  ///< The newest file that may be shown.
  bool has_all_ = false;                      ///< True once `shown_` has had all existing bytes.
  bool over_ = false;                         ///< There will be no more data.
  std::optional<error> failure_;  ///< Why the data ended although the recording had not. It is reported once.
  worker_thread thread_;
};

class live_source final : public trace::byte_source {
 public:
  live_source(std::string name, std::shared_ptr<follower> source, std::shared_ptr<const copied_file> shown)
      : byte_source(std::move(name)), from_(std::move(source)), shown_(std::move(shown)) {}

  result<extent> poll() override { return from_->poll(*shown_); }
  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    return shown_->read_at(offset, into);
  }
  result<std::shared_ptr<byte_source>> successor() const override {
    auto next = from_->after(*shown_);
    if (!next) return nullptr;
    return std::make_shared<live_source>(name(), from_, std::move(next));
  }

 private:
  const std::shared_ptr<follower> from_;
  const std::shared_ptr<const copied_file> shown_;
};

}  // namespace

result<live_recording> follow_live(const std::string& socket, const std::string& name,
                                   const std::function<bool()>& cancelled, const copy_limits& limits) {
  auto reached = connection::to_socket(socket, name);
  if (!reached) return tl::unexpected(reached.error());
  const auto source = std::make_shared<follower>(*reached, name, limits);
  if (auto started = source->start(); !started) return tl::unexpected(started.error());
  auto shown = source->first(cancelled);
  if (!shown) return tl::unexpected(shown.error());
  return live_recording{std::make_shared<live_source>(name, source, std::move(*shown)), (*reached)->recording()};
}

}  // namespace sluice::remote
