#include "tests/instrumentation/capture/fake/replay.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

namespace sluice::fake {
namespace {

using journal::activity_record;
using journal::api_edge;
using journal::block;
using journal::entry;
using journal::patch;
using journal::resource_edge;

/// A journal's block in memory, whose pointers are valid for the lifetime of this object.
class living_block {
 public:
  explicit living_block(const block& b) : bytes_(b.bytes) {
    for (const patch& p : b.patches) targets_.push_back(p.bytes);
    for (std::size_t i = 0; i < b.patches.size(); ++i) {
      const patch& p = b.patches[i];
      std::vector<std::uint8_t>& holder = p.parent == 0 ? bytes_ : targets_.at(p.parent - 1U);
      void* pointer = targets_[i].empty() ? nullptr : targets_[i].data();
      if (p.offset + sizeof pointer <= holder.size()) std::memcpy(holder.data() + p.offset, &pointer, sizeof pointer);
    }
  }
  [[nodiscard]] const void* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::vector<std::uint8_t>> targets_;
};

/// Replays one pass. Shifts the times of records so that their distance from the requesting call stays the same.
class player {
 public:
  player(const journal::journal& j, hub& to, const replay_options& options, std::uint32_t pass, std::uint32_t stride)
      : journal_(j), hub_(to), options_(options), shift_(pass * stride) {}

  void run() {
    const auto count = static_cast<std::size_t>(static_cast<double>(journal_.entries.size()) * options_.until);
    std::set<std::uint32_t> threads;
    for (const entry& e : journal_.entries) threads.insert(get_thread(e));
    threads.insert(main_thread);
    std::vector<std::thread> others;
    for (const std::uint32_t thread : threads) {
      if (thread != main_thread) others.emplace_back([this, thread, count] { play(thread, count); });
    }
    play(main_thread, count);
    for (std::thread& t : others) t.join();
  }

 private:
  static constexpr std::uint32_t main_thread = 1;

  static std::uint32_t get_thread(const entry& e) {
    if (const auto* api = std::get_if<api_edge>(&e)) return api->thread;
    if (const auto* resource = std::get_if<resource_edge>(&e)) return resource->thread;
    return main_thread;
  }

  void play(std::uint32_t thread, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const entry& e = journal_.entries[i];
      if (get_thread(e) != thread) continue;
      for (std::size_t turn = turn_.load(); turn != i; turn = turn_.load()) turn_.wait(turn);
      if (i == count / 2 && options_.halfway) options_.halfway();
      std::visit([this](const auto& one) { show(one); }, e);
      turn_.store(i + 1);
      turn_.notify_all();
    }
  }

  void pace(std::int64_t recorded) {
    if (!options_.paced) return;
    if (first_time_ == 0) {
      first_time_ = recorded;
      began_ = std::chrono::steady_clock::now();
    }
    std::this_thread::sleep_until(began_ + std::chrono::nanoseconds(recorded - first_time_));
  }

  void show(const api_edge& e) {
    pace(e.time_ns);
    const living_block params(e.params);
    CUresult result = static_cast<CUresult>(e.result);
    CUpti_CallbackData data{};
    data.callbackSite = e.site == 0 ? CUPTI_API_ENTER : CUPTI_API_EXIT;
    data.functionName = "";
    data.functionParams = params.data();
    data.functionReturnValue = e.site == 0 ? nullptr : &result;
    const auto symbol = journal_.strings.find(e.name);
    data.symbolName = symbol == journal_.strings.end() ? nullptr : symbol->second.c_str();
    data.context = reinterpret_cast<CUcontext>(e.context);
    data.contextUid = e.context_uid;
    data.correlationData = &kept_[e.correlation];
    data.correlationId = e.correlation + shift_;
    if (e.site == 0) offset_[e.correlation] = static_cast<std::int64_t>(hub_.timestamp()) - e.time_ns;
    hub_.callback(CUPTI_CB_DOMAIN_DRIVER_API, e.cbid, &data);
  }

  void show(const resource_edge& e) {
    pace(e.time_ns);
    auto* const context = reinterpret_cast<CUcontext>(e.context);
    auto* const stream = reinterpret_cast<CUstream>(e.stream);
    hub_.set_context(context, e.context_uid, e.device);
    hub_.set_stream(context, stream, e.stream_id);
    CUpti_ResourceData data{};
    data.context = context;
    data.resourceHandle.stream = stream;
    hub_.callback(CUPTI_CB_DOMAIN_RESOURCE, e.cbid, &data);
  }

  void show(const activity_record& e) {
    const journal::record_layout layout = journal::get_layout(e.kind);
    block b = e.bytes;
    if (layout.correlation != 0) {
      const auto correlation = journal::field<std::uint32_t>(b, layout.correlation);
      if (const auto found = offset_.find(correlation); found != offset_.end()) last_offset_ = found->second;
      journal::set_field(b, layout.correlation, correlation + shift_);
    }
    if (layout.start != 0) {
      for (const std::size_t at : {layout.start, layout.end}) {
        const auto time = journal::field<std::uint64_t>(b, at);
        if (time != 0) journal::set_field(b, at, time + static_cast<std::uint64_t>(last_offset_));
      }
    }
    std::string name;
    for (const patch& p : b.patches) {
      if (p.parent == 0 && p.offset == layout.name && layout.name != 0 && !p.bytes.empty()) {
        name.assign(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size() - 1);
      } else if (p.parent == 0) {
        journal::set_field<std::uint64_t>(b, p.offset, 0);
      }
    }
    hub_.add_record(b.bytes, name.empty() ? 0 : layout.name, name);
  }

  const journal::journal& journal_;
  hub& hub_;
  const replay_options& options_;
  std::uint32_t shift_;
  std::atomic<std::size_t> turn_{0};
  std::int64_t first_time_ = 0;
  std::chrono::steady_clock::time_point began_;
  // Used only by the thread whose turn it is.
  std::unordered_map<std::uint32_t, std::uint64_t> kept_;
  std::unordered_map<std::uint32_t, std::int64_t> offset_;
  std::int64_t last_offset_ = 0;
};

bool is_record(const entry& e) { return std::holds_alternative<activity_record>(e); }

template <class Change>
void each_record(journal::journal& j, Change change) {
  for (entry& e : j.entries) {
    if (auto* record = std::get_if<activity_record>(&e)) change(*record);
  }
}

void drop_edges(journal::journal& j, std::uint8_t site) {
  std::erase_if(j.entries, [site](const entry& e) {
    const auto* api = std::get_if<api_edge>(&e);
    return api != nullptr && api->site == site;
  });
}

}  // namespace

bool make_hostile(journal::journal& j, const std::string& method) {
  if (method == "frees-first") {
    std::reverse(j.entries.begin(), j.entries.end());
  } else if (method == "records-first") {
    std::stable_partition(j.entries.begin(), j.entries.end(), is_record);
  } else if (method == "records-last") {
    std::stable_partition(j.entries.begin(), j.entries.end(), [](const entry& e) { return !is_record(e); });
  } else if (method == "zero-times") {
    each_record(j, [](activity_record& r) {
      const journal::record_layout layout = journal::get_layout(r.kind);
      if (layout.start == 0) return;
      journal::set_field<std::uint64_t>(r.bytes, layout.start, 0);
      journal::set_field<std::uint64_t>(r.bytes, layout.end, 0);
    });
  } else if (method == "backward-times") {
    each_record(j, [](activity_record& r) {
      const journal::record_layout layout = journal::get_layout(r.kind);
      if (layout.start == 0) return;
      const auto start = journal::field<std::uint64_t>(r.bytes, layout.start);
      journal::set_field(r.bytes, layout.start, journal::field<std::uint64_t>(r.bytes, layout.end));
      journal::set_field(r.bytes, layout.end, start);
    });
  } else if (method == "unknown-kinds") {
    each_record(j, [](activity_record& r) { journal::set_field<std::uint32_t>(r.bytes, 0, 1000 + r.kind); });
  } else if (method == "no-entries") {
    drop_edges(j, 0);
  } else if (method == "no-exits") {
    drop_edges(j, 1);
  } else if (method == "null-pointers") {
    for (entry& e : j.entries) {
      if (auto* api = std::get_if<api_edge>(&e)) {
        for (patch& p : api->params.patches) p.bytes.clear();
      }
    }
    each_record(j, [](activity_record& r) {
      for (patch& p : r.bytes.patches) p.bytes.clear();
    });
  } else if (method == "cut-records") {
    each_record(j, [](activity_record& r) { r.bytes.bytes.resize(std::min<std::size_t>(r.bytes.bytes.size(), 24)); });
  } else if (method == "doubled") {
    std::vector<entry> twice;
    for (const entry& e : j.entries) twice.insert(twice.end(), {e, e});
    j.entries = std::move(twice);
  } else {
    return false;
  }
  return true;
}

void replay(const journal::journal& j, hub& to, const replay_options& options) {
  std::uint32_t stride = 0;
  for (const entry& e : j.entries) {
    if (const auto* api = std::get_if<api_edge>(&e)) stride = std::max(stride, api->correlation);
  }
  for (int pass = 0; pass < options.repeat; ++pass) {
    player(j, to, options, static_cast<std::uint32_t>(pass), stride).run();
  }
}

}  // namespace sluice::fake
