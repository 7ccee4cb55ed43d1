#include "core/remote/remote_results.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include "core/query/elsewhere/queries.hpp"
#include "core/remote/frames.hpp"

namespace sluice::remote {
namespace {

using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

/// The most time to wait for the outline of a recording, over a slow connection or while a large truncated file is
/// summarized.
constexpr milliseconds max_opening{600'000};
/// The interval for requesting the newer state of a growing recording. The interval is long because each new state
/// repeats all queries.
constexpr milliseconds outline_every{1'000};

class remote_answerer final : public query::answerer {
 public:
  explicit remote_answerer(std::shared_ptr<connection> by) : by_(std::move(by)) {}

  std::uint64_t ask(const std::vector<std::byte>& query, on_reply then) override {
    return by_->begin(frame_kind::query, query, [then = std::move(then)](result<frame> came) {
      const auto said =
          came && came->kind == frame_kind::result ? message_in<result_message>(came->payload) : std::nullopt;
      if (!said) {
        then(came ? tl::unexpected(error{error_code::corrupt, "received an invalid reply", {}, error::no_offset, {}})
                  : tl::unexpected(came.error()));
        return false;
      }
      const auto rest = std::span<const std::byte>(came->payload).subspan(sizeof *said);
      const bool last = said->last != 0;
      then(reply{{rest.begin(), rest.end()}, last, said->progress});
      return !last;
    });
  }
  void withdraw(std::uint64_t id) override { by_->withdraw(id); }
  bool alive() const override { return by_->alive(); }
  bool busy() const override { return by_->waits(); }

  std::shared_ptr<trace::file> newer_than(const trace::snapshot& known) override {
    if (!known.growing()) return nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (steady::now() - looked_ < outline_every) return nullptr;
      looked_ = steady::now();
    }
    auto now = outline(max_opening);
    if (!now) {
      // From here on, no more data of the recording will arrive.
      trace::outline last = known.about();
      last.growing = false;
      last.warnings.push_back(now.error().to_string() + ": showing the data received until then");
      return trace::file::without_rows(std::move(last));
    }
    const bool same = now->end == known.end() && now->begin == known.begin() && now->growing == known.growing() &&
                      now->file_bytes == known.file_bytes();
    return same ? nullptr : trace::file::without_rows(std::move(*now));
  }

  [[nodiscard]] result<trace::outline> outline(milliseconds most) const {
    const std::uint64_t layout = query::layout_of_queries();
    const auto came = by_->ask(frame_kind::outline, get_bytes(layout), frame_kind::outline, most);
    if (!came) return tl::unexpected(came.error());
    return query::decode_outline(came->payload, by_->name());
  }

 private:
  const std::shared_ptr<connection> by_;
  std::mutex mutex_;
  steady::time_point looked_ = steady::now();
};

}  // namespace

result<answered_recording> get_results(const std::shared_ptr<connection>& by) {
  if (!by->results()) return fail(error_code::foreign, "does not answer queries", by->name());
  auto results = std::make_shared<remote_answerer>(by);
  auto outline = results->outline(max_opening);
  if (!outline) return tl::unexpected(outline.error());
  return answered_recording{trace::file::without_rows(std::move(*outline)), std::move(results)};
}

}  // namespace sluice::remote
