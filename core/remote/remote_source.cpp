#include "core/remote/remote_source.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/remote/copied_file.hpp"
#include "core/remote/frames.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The most time to wait for one reply, on a slow connection.
constexpr milliseconds max_wait{60'000};
constexpr milliseconds look_at_cancel{100};
/// The interval for requesting the size of a growing recording.
constexpr milliseconds look_every{250};
/// The unit of requests. The tiles of a view are adjacent in the file, and so are the events of a section: one or two
/// blocks have all of them. On a line of 100 Mbit/s, a block takes 20 ms.
constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;
/// The most blocks to request ahead of a reader. Together they fill a line of 300 Mbit/s with a delay of 25 ms.
constexpr std::uint64_t max_ahead = 8;

/// A request for some bytes of a block.
struct block_request {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;  ///< In the file.
  std::uint64_t bytes = 0;
  std::uint64_t cuts = 0;  ///< How often the file had become shorter at the time of the request.
};

/// A file of the peer: how long it is, and the bytes that have been received. Replies are put in, and readers wait for
/// them. Thread-safe.
class received_file {
 public:
  received_file(std::shared_ptr<copied_file> copy, const extent_message& there, std::string name)
      : copy_(std::move(copy)), name_(std::move(name)), there_(there) {}

  [[nodiscard]] std::uint64_t generation() const { return copy_->generation(); }

  /// Returns the requests to send before bytes [offset, offset + bytes) can be read. The caller must send them.
  [[nodiscard]] std::vector<block_request> take_requests(std::uint64_t offset, std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    std::vector<block_request> requests;
    if (failure_ || bytes == 0 || offset >= there_.bytes) return requests;
    const std::uint64_t end = std::min(offset + bytes, there_.bytes);
    const std::uint64_t first = offset / block_bytes, last = (end - 1) / block_bytes;
    for (std::uint64_t number = first; number <= last; ++number) request(number, requests);
    if (first > last_read_ + 1 || first < last_read_) ahead_ = 1;
    if (first == last_read_ + 1) ahead_ = std::min(2 * ahead_, max_ahead);
    last_read_ = last;
    if (requests.empty() && ahead_ == 1) return requests;
    for (std::uint64_t number = last + 1; number <= last + ahead_; ++number) request(number, requests);
    return requests;
  }

  /// Takes the reply to a request. Errors: the reason why no more bytes can be received.
  result<void> put(const block_request& asked, const result<frame>& came) {
    const std::scoped_lock lock(mutex_);
    block& of = blocks_[asked.number];
    of.requested = false;
    changed_.notify_all();
    if (asked.cuts != cuts_) return {};
    if (!came) return give_up(came.error());
    if (came->kind != frame_kind::bytes || came->payload.size() > asked.bytes)
      return give_up({error_code::corrupt, "received an invalid reply", {}, error::no_offset, {}});
    const std::uint64_t place = copy_->bytes();
    const auto added = copy_->add(came->payload);
    of.pieces.push_back({asked.offset, copy_->bytes() - place, place});
    return added ? added : give_up(added.error());
  }

  /// Reads bytes whose requests have been sent; fewer at the end of the file. Errors: io, cancelled.
  [[nodiscard]] result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into,
                                         const std::function<bool()>& cancelled) {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto from = wait_for(offset + done, cancelled);
      if (!from) return tl::unexpected(from.error());
      if (from->bytes == 0) break;
      const auto next = into.subspan(done, std::min<std::uint64_t>(into.size() - done, from->bytes));
      if (auto got = copy_->read_at(from->place, next); !got) return got;
      done += next.size();
    }
    return done;
  }

  /// True if a `look` is due; the caller must then send it.
  [[nodiscard]] bool take_look() {
    const std::scoped_lock lock(mutex_);
    const bool due = there_.growing != 0 && !looking_ && !failure_ && steady::now() - looked_ >= look_every;
    looking_ = looking_ || due;
    return due;
  }

  /// Takes the reply to a `look`. Errors: see `put`.
  result<void> put_look(const result<frame>& came) {
    const std::scoped_lock lock(mutex_);
    looking_ = false;
    looked_ = steady::now();
    const auto now = came ? extent_in(*came, generation(), name_) : tl::unexpected(came.error());
    if (!now) return give_up(now.error());
    if (now->bytes < there_.bytes) cut(now->bytes);
    there_ = *now;
    return {};
  }

  [[nodiscard]] trace::byte_source::extent poll() {
    const std::scoped_lock lock(mutex_);
    trace::byte_source::extent output{.bytes = there_.bytes, .growing = there_.growing != 0 && !failure_, .remark = {}};
    if (failure_ && !std::exchange(reported_, true))
      output.remark = failure_->message + ": showing the recording up to then" +
                      (failure_->hint.empty() ? "" : "; " + failure_->hint);
    return output;
  }

  [[nodiscard]] std::uint64_t newest() {
    const std::scoped_lock lock(mutex_);
    return there_.newest;
  }
  /// The reason why no more bytes can be received, if that is so.
  [[nodiscard]] std::optional<error> failure() {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

 private:
  /// Adjacent received bytes.
  struct piece {
    std::uint64_t offset = 0;  ///< In the file.
    std::uint64_t bytes = 0;
    std::uint64_t place = 0;  ///< In `copy_`.
    [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
  };
  struct block {
    std::vector<piece> pieces;  ///< Without gaps, from the start of the block on. A growing file's last block has
                                ///< several.
    bool requested = false;
  };

  /// Adds a request for the bytes that the block lacks, if it lacks any and none has been sent.
  void request(std::uint64_t number, std::vector<block_request>& requests) {
    const std::uint64_t begin = number * block_bytes;
    if (begin >= there_.bytes) return;
    block& of = blocks_[number];
    const std::uint64_t from = of.pieces.empty() ? begin : of.pieces.back().end();
    const std::uint64_t end = std::min(begin + block_bytes, there_.bytes);
    if (of.requested || from >= end) return;
    of.requested = true;
    requests.push_back({number, from, end - from, cuts_});
  }

  /// Waits until the byte at `offset` has been received or will not be. Returns where the bytes from there on are in
  /// `copy_`; no bytes at the end of the file.
  result<piece> wait_for(std::uint64_t offset, const std::function<bool()>& cancelled) {
    const auto until = steady::now() + max_wait;
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto of = blocks_.find(offset / block_bytes);
      if (of == blocks_.end()) break;
      for (const piece& each : of->second.pieces)
        if (each.offset <= offset && offset < each.end())
          return piece{offset, each.end() - offset, each.place + offset - each.offset};
      if (!of->second.requested) break;
      if (cancelled && cancelled()) return fail(error_code::cancelled, "the opening was cancelled", name_);
      if (steady::now() >= until) {
        static_cast<void>(give_up({error_code::io, "no reply", {}, error::no_offset, {}}));
        break;
      }
      changed_.wait_for(lock, look_at_cancel);
    }
    // Other codes would make the reader look for damage.
    if (failure_ && offset < there_.bytes)
      return fail(error_code::io, failure_->message, name_, failure_->hint, offset);
    return piece{};
  }

  /// The recorder has removed the last bytes of the file, and may write others in their place.
  void cut(std::uint64_t end) {
    ++cuts_;
    for (auto of = blocks_.lower_bound(end / block_bytes); of != blocks_.end(); ++of) {
      std::vector<piece>& pieces = of->second.pieces;
      std::erase_if(pieces, [end](const piece& each) { return each.offset >= end; });
      if (!pieces.empty()) pieces.back().bytes = std::min(pieces.back().bytes, end - pieces.back().offset);
    }
  }

  tl::unexpected<error> give_up(const error& why) {
    if (!failure_) failure_ = why;
    changed_.notify_all();
    return tl::unexpected(*failure_);
  }

  const std::shared_ptr<copied_file> copy_;
  const std::string name_;
  std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable changed_;
  extent_message there_;
  std::map<std::uint64_t, block> blocks_;  ///< The blocks that have been requested.
  std::uint64_t last_read_ = 0;            ///< The block that was read last.
  std::uint64_t ahead_ = 1;                ///< The number of blocks to request ahead.
  std::uint64_t cuts_ = 0;
  bool looking_ = false;
  steady::time_point looked_ = steady::now();
  std::optional<error> failure_;
  bool reported_ = false;
};

/// What all files of one recording share.
struct remote_recording {
  std::shared_ptr<connection> by;
  std::shared_ptr<copy_room> room;
};

class remote_source final : public trace::byte_source {
 public:
  remote_source(remote_recording of, std::shared_ptr<received_file> file, std::function<bool()> cancelled)
      : byte_source(of.by->name()), of_(std::move(of)), file_(std::move(file)), cancelled_(std::move(cancelled)) {}

  /// `generation`: 0 for the newest file.
  [[nodiscard]] static result<std::shared_ptr<remote_source>> open(const remote_recording& of, std::uint64_t generation,
                                                                   const std::function<bool()>& cancelled) {
    const auto reply = of.by->ask(frame_kind::look, get_bytes(look_message{generation}), frame_kind::extent, max_wait);
    if (!reply) return tl::unexpected(reply.error());
    const auto there = extent_in(*reply, generation, of.by->name());
    if (!there) return tl::unexpected(there.error());
    if (there->generation == 0)
      return fail(error_code::unavailable, "nothing has been recorded yet", of.by->name(), "try again later");
    auto copy = copied_file::make(there->generation, of.room);
    if (!copy) return tl::unexpected(copy.error());
    auto file = std::make_shared<received_file>(std::move(*copy), *there, of.by->name());
    return std::make_shared<remote_source>(of, std::move(file), cancelled);
  }

  result<extent> poll() override {
    if (file_->take_look())
      of_.by->begin(frame_kind::look, get_bytes(look_message{file_->generation()}),
                    [file = file_](result<frame> came) { static_cast<void>(file->put_look(came)); });
    return file_->poll();
  }

  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    for (const block_request& each : file_->take_requests(offset, into.size())) {
      const read_message wanted{file_->generation(), each.offset, static_cast<std::uint32_t>(each.bytes), 0};
      of_.by->begin(frame_kind::read, get_bytes(wanted),
                    [file = file_, each](result<frame> came) { static_cast<void>(file->put(each, came)); });
    }
    auto got = file_->read(offset, into, cancelled_);
    const auto failure = got ? std::nullopt : file_->failure();
    // After other failures, later replies are not needed. An old file is gone while its successor can still be read.
    if (failure && failure->code != error_code::not_found) of_.by->end();
    return got;
  }

  result<std::shared_ptr<byte_source>> successor() const override {
    const std::uint64_t newest = file_->newest();
    if (newest == file_->generation() || !of_.by->alive()) return nullptr;
    auto next = open(of_, newest, {});
    if (!next) return tl::unexpected(next.error());
    return std::move(*next);
  }

  [[nodiscard]] std::optional<error> failure() const { return file_->failure(); }
  /// Call when the recording is open: then nothing can be cancelled.
  void keep() { cancelled_ = {}; }

 private:
  const remote_recording of_;
  const std::shared_ptr<received_file> file_;
  std::function<bool()> cancelled_;  ///< Set while the recording is opened, on one thread.
};

}  // namespace

result<std::shared_ptr<trace::file>> open_remote(const std::shared_ptr<connection>& by,
                                                 const trace::reader_options& options,
                                                 const std::function<bool()>& cancelled, const copy_limits& limits) {
  const auto source = remote_source::open({by, std::make_shared<copy_room>(limits)}, 0, cancelled);
  if (!source) return tl::unexpected(source.error());
  auto opened = trace::file::open(*source, options);
  // The file may have been opened as one without an index, because its end could not be read.
  if (const auto why = (*source)->failure()) return fail(why->code, why->message, by->name(), why->hint);
  if (cancelled && cancelled()) return fail(error_code::cancelled, "the opening was cancelled", by->name());
  (*source)->keep();
  return opened;
}

}  // namespace sluice::remote
