#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/query/elsewhere/answerer.hpp"
#include "core/query/elsewhere/queries.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::query {

/// The state of a `slot` (the query of one view, see engine.hpp) whose results another process computes. It sends the
/// slot's queries to that process and keeps the newest result that has come back. Private to engine.cpp.
///
/// A round trip takes long, so a new query is sent without waiting for the reply to the oldest one. That reply may
/// still arrive and be shown. Queries between the oldest and the newest are withdrawn.
template <class Query>
class asked_elsewhere {
 public:
  using value_type = typename Query::result_type;

  explicit asked_elsewhere(std::shared_ptr<answerer> by) : by_(std::move(by)) {}
  ~asked_elsewhere() {
    for (const flight& each : flights_)
      if (!*each.done) by_->withdraw(each.id);
  }
  asked_elsewhere(const asked_elsewhere&) = delete;
  asked_elsewhere& operator=(const asked_elsewhere&) = delete;

  /// Returns the best result so far. `generation` increases when results may change. `wake` is called when a better
  /// result has arrived.
  query_result<value_type> ask(const Query& query, std::uint64_t generation, const std::function<void()>& wake) {
    while (!flights_.empty() && *flights_.front().done) flights_.pop_front();
    const bool waits = !flights_.empty() && flights_.back().query == query &&
                       flights_.back().generation == generation && !*flights_.back().done;
    if (!waits && !is_answered(query, generation) && by_->alive()) send(query, generation, wake);
    const std::scoped_lock lock(shown_->mutex);
    const bool same = shown_->answered == query;
    // Keeps the last result after the connection has ended.
    if (!by_->alive() && shown_->value) return {shown_->value, true, 1.0F, std::nullopt};
    if (!by_->alive())
      return {nullptr, false, 0.0F, error{error_code::io, "the connection has ended", {}, error::no_offset, {}}};
    const bool complete = same && shown_->complete && shown_->generation == generation;
    return {shown_->value, complete, complete ? 1.0F : shown_->progress, same ? shown_->failure : std::nullopt};
  }

 private:
  struct shown {
    std::mutex mutex;
    std::shared_ptr<const value_type> value;
    std::optional<Query> answered;
    std::uint64_t number = 0;  ///< The number of the query in `answered`: queries are numbered in order of sending.
    std::uint64_t generation = 0;
    bool complete = false;
    float progress = 0;
    std::optional<error> failure;
  };
  struct flight {
    Query query;
    std::uint64_t generation = 0;
    std::uint64_t id = 0;
    std::shared_ptr<std::atomic<bool>> done;
  };

  bool is_answered(const Query& query, std::uint64_t generation) {
    const std::scoped_lock lock(shown_->mutex);
    return shown_->answered == query && shown_->complete && shown_->generation == generation;
  }

  void send(const Query& query, std::uint64_t generation, const std::function<void()>& wake) {
    if (flights_.size() == 2) {
      by_->withdraw(flights_.back().id);
      flights_.pop_back();
    }
    auto done = std::make_shared<std::atomic<bool>>(false);
    const std::uint64_t number = ++sent_;
    const auto then = [into = shown_, query, generation, number, done, wake](result<answerer::reply> came) {
      const bool last = !came || came->last;
      auto value = came ? decode_result<Query>(came->bytes) : tl::unexpected(came.error());
      {
        const std::scoped_lock lock(into->mutex);
        if (number >= into->number) {
          into->number = number;
          into->answered = query;
          into->generation = generation;
          into->complete = last;
          if (came) into->progress = came->progress;
          into->failure.reset();
          if (value) {
            into->value = std::make_shared<const value_type>(std::move(*value));
          } else {
            into->failure = value.error();
          }
        }
      }
      if (last) *done = true;
      if (wake) wake();
    };
    const std::uint64_t id = by_->ask(encode_query(query), then);
    flights_.push_back({query, generation, id, std::move(done)});
  }

  const std::shared_ptr<answerer> by_;
  const std::shared_ptr<shown> shown_ = std::make_shared<shown>();
  std::deque<flight> flights_;  ///< At most two: the query whose result may still be shown, and the newest.
  std::uint64_t sent_ = 0;
};

/// Sends a query to the other process and waits for the complete result.
template <class Query>
result<std::shared_ptr<const typename Query::result_type>> ask_elsewhere_now(answerer& by, const Query& query) {
  using value_type = typename Query::result_type;
  struct waiting {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<result<value_type>> value;
  };
  const auto shared = std::make_shared<waiting>();
  by.ask(encode_query(query), [shared](result<answerer::reply> came) {
    if (came && !came->last) return;
    const std::scoped_lock lock(shared->mutex);
    shared->value = came ? decode_result<Query>(came->bytes) : tl::unexpected(came.error());
    shared->came.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  shared->came.wait(lock, [&] { return shared->value.has_value(); });
  if (!*shared->value) return tl::unexpected((*shared->value).error());
  return std::make_shared<const value_type>(std::move(**shared->value));
}

}  // namespace sluice::query
