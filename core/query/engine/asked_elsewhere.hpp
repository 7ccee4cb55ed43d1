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
#include "core/query/elsewhere/questions.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::query {

/// A slot whose questions another process answers. Private to engine.cpp.
///
/// The way there and back takes long, so a new question goes out at once. The one before it may still be answered and be
/// shown meanwhile; those between the two are withdrawn.
template <class Question>
class asked_elsewhere {
 public:
  using value_type = typename Question::answer_type;

  explicit asked_elsewhere(std::shared_ptr<answerer> by) : by_(std::move(by)) {}
  ~asked_elsewhere() {
    for (const flight& each : flights_)
      if (!*each.done) by_->withdraw(each.id);
  }
  asked_elsewhere(const asked_elsewhere&) = delete;
  asked_elsewhere& operator=(const asked_elsewhere&) = delete;

  /// `generation`: increases when answers may change. `wake`: called when a better answer has come.
  answer<value_type> ask(const Question& question, std::uint64_t generation, const std::function<void()>& wake) {
    while (!flights_.empty() && *flights_.front().done) flights_.pop_front();
    const bool waits = !flights_.empty() && flights_.back().question == question &&
                       flights_.back().generation == generation && !*flights_.back().done;
    if (!waits && !is_answered(question, generation) && by_->alive()) send(question, generation, wake);
    const std::scoped_lock lock(shown_->mutex);
    const bool same = shown_->answered == question;
    // What came stays, if there is nobody any more who could answer anew.
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
    std::optional<Question> answered;
    std::uint64_t number = 0;  ///< Of the question in `answered`.
    std::uint64_t generation = 0;
    bool complete = false;
    float progress = 0;
    std::optional<error> failure;
  };
  struct flight {
    Question question;
    std::uint64_t generation = 0;
    std::uint64_t id = 0;
    std::shared_ptr<std::atomic<bool>> done;
  };

  bool is_answered(const Question& question, std::uint64_t generation) {
    const std::scoped_lock lock(shown_->mutex);
    return shown_->answered == question && shown_->complete && shown_->generation == generation;
  }

  void send(const Question& question, std::uint64_t generation, const std::function<void()>& wake) {
    if (flights_.size() == 2) {
      by_->withdraw(flights_.back().id);
      flights_.pop_back();
    }
    auto done = std::make_shared<std::atomic<bool>>(false);
    const std::uint64_t number = ++sent_;
    const auto then = [into = shown_, question, generation, number, done, wake](result<answerer::reply> came) {
      const bool last = !came || came->last;
      auto value = came ? decode_answer<Question>(came->bytes) : tl::unexpected(came.error());
      {
        const std::scoped_lock lock(into->mutex);
        if (number >= into->number) {
          into->number = number;
          into->answered = question;
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
    const std::uint64_t id = by_->ask(encode_question(question), then);
    flights_.push_back({question, generation, id, std::move(done)});
  }

  const std::shared_ptr<answerer> by_;
  const std::shared_ptr<shown> shown_ = std::make_shared<shown>();
  std::deque<flight> flights_;  ///< At most two: the one that may still be shown, and the newest.
  std::uint64_t sent_ = 0;
};

/// Asks elsewhere and waits for the complete answer.
template <class Question>
result<std::shared_ptr<const typename Question::answer_type>> ask_elsewhere_now(answerer& by,
                                                                                const Question& question) {
  using value_type = typename Question::answer_type;
  struct waiting {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<result<value_type>> value;
  };
  const auto shared = std::make_shared<waiting>();
  by.ask(encode_question(question), [shared](result<answerer::reply> came) {
    if (came && !came->last) return;
    const std::scoped_lock lock(shared->mutex);
    shared->value = came ? decode_answer<Question>(came->bytes) : tl::unexpected(came.error());
    shared->came.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  shared->came.wait(lock, [&] { return shared->value.has_value(); });
  if (!*shared->value) return tl::unexpected((*shared->value).error());
  return std::make_shared<const value_type>(std::move(**shared->value));
}

}  // namespace sluice::query
