#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/query/elsewhere/answerer.hpp"
#include "core/query/elsewhere/question_desk.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::query {

/// Simulates a process that answers an engine's queries: a desk with its own engine, on its own thread.
class desk_answerer final : public answerer {
 public:
  explicit desk_answerer(std::shared_ptr<trace::file> recording)
      : engine_(std::move(recording), {.wake = [this] { changed_.notify_all(); }}), thread_([this] { work(); }) {}
  ~desk_answerer() override {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::uint64_t ask(const std::vector<std::byte>& query, on_reply then) override {
    const std::scoped_lock lock(mutex_);
    ++asked_;
    if (!alive_) {
      then(fail(error_code::io, "gone"));
      return 0;
    }
    came_.emplace_back(++last_, query);
    then_.emplace(last_, std::move(then));
    changed_.notify_all();
    return last_;
  }
  void withdraw(std::uint64_t id) override {
    const std::scoped_lock lock(mutex_);
    ++withdrawn_;
    then_.erase(id);
    gone_.push_back(id);
  }
  bool alive() const override { return alive_; }
  bool busy() const override {
    const std::scoped_lock lock(mutex_);
    return !then_.empty();
  }
  std::shared_ptr<trace::file> newer_than(const trace::snapshot& /*known*/) override {
    return std::exchange(next_, {});
  }

  /// Sets the next result of `newer_than`.
  void put_newer(std::shared_ptr<trace::file> next) { next_ = std::move(next); }
  /// Stops answering until `go_on` is called.
  void pause() { paused_ = true; }
  void go_on() {
    paused_ = false;
    changed_.notify_all();
  }
  /// Breaks the connection: every pending query fails.
  void die() {
    std::map<std::uint64_t, on_reply> left;
    {
      const std::scoped_lock lock(mutex_);
      alive_ = false;
      left.swap(then_);
    }
    for (auto& [id, then] : left) then(fail(error_code::io, "gone"));
  }
  [[nodiscard]] int asked() const { return asked_; }
  [[nodiscard]] int withdrawn() const { return withdrawn_; }

 private:
  void work() {
    question_desk desk(engine_);
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      for (const auto& [id, query] : std::exchange(came_, {})) EXPECT_TRUE(desk.ask(id, query));
      for (const std::uint64_t id : std::exchange(gone_, {})) desk.withdraw(id);
      auto next = paused_ ? std::nullopt : desk.next();
      if (!next) {
        changed_.wait_for(lock, std::chrono::milliseconds(5));
        continue;
      }
      const auto found = then_.find(next->id);
      if (found == then_.end()) continue;
      on_reply then = next->last ? std::move(found->second) : found->second;
      if (next->last) then_.erase(found);
      lock.unlock();
      if (next->failure) {
        then(tl::unexpected(*next->failure));
      } else {
        then(reply{std::move(next->bytes), next->last, next->progress});
      }
      lock.lock();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  engine engine_;
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> came_;
  std::vector<std::uint64_t> gone_;
  std::map<std::uint64_t, on_reply> then_;
  std::uint64_t last_ = 0;
  std::atomic<int> asked_{0};
  std::atomic<int> withdrawn_{0};
  std::atomic<bool> alive_{true};
  std::atomic<bool> paused_{false};
  bool stopping_ = false;
  std::shared_ptr<trace::file> next_;
  std::thread thread_;
};

}  // namespace sluice::query
