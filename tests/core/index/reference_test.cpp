#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

/// Compares every metric with a slow, simple computation over all rows, nanosecond by nanosecond where needed.
namespace sluice::index {
namespace {

using testing::indexed;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

constexpr time_ns span = 3000;

struct modelled_block {
  memory_key key;
  std::uint64_t bytes = 0;
  time_ns born = 0;
  time_ns died = span * 2;  ///< If never freed, a time after the range of any query.
  std::string name;
};
struct work {
  time_ns begin = 0;
  time_ns end = 0;
  std::string name;
  std::uint64_t bytes = 0;
  direction way = direction::unknown;
  memory_kind side = memory_kind::unknown;
};

/// The content of a random recording, added in random order in small chunks.
struct random_trace {
  explicit random_trace(std::uint64_t seed) : random(seed), recorded(1 + seed % 40) {
    recorded.standard_tables();
    make_blocks();
    make_work();
    set_known();
    recorded.close();
  }

  time_ns any_time() { return static_cast<time_ns>(random() % span); }

  void make_blocks() {
    const memory_key keys[] = {{trace::device_id{1}, layer::driver, memory_kind::device},
                               {trace::device_id{1}, layer::pool, memory_kind::device},
                               {trace::device_id::none, layer::driver, memory_kind::pinned}};
    for (int i = 0; i < 150; ++i) {
      modelled_block b;
      b.key = keys[random() % 3];
      b.bytes = random() % 1000;
      b.born = any_time();
      if (random() % 5 != 0) b.died = b.born + static_cast<time_ns>(random() % 500);
      b.name = "site " + std::to_string(random() % 6);
      blocks.push_back(b);
    }
  }

  void make_work() {
    const direction ways[] = {direction::h2d, direction::d2h, direction::d2d};
    const memory_kind sides[] = {memory_kind::host, memory_kind::pinned};
    for (int i = 0; i < 120; ++i) {
      work w;
      w.begin = any_time();
      w.end = w.begin + static_cast<time_ns>(random() % 60);
      if (random() % 2 == 0) {
        w.name = "kernel " + std::to_string(random() % 5);
        kernels.push_back(w);
      } else {
        w.way = ways[random() % 3];
        w.side = w.way == direction::d2d ? memory_kind::unknown : sides[random() % 2];
        w.bytes = random() % 10'000;
        copies.push_back(w);
      }
    }
  }

  void set_known() {
    std::vector<std::function<void()>> rows;
    std::uint64_t id = 0;
    for (const modelled_block& b : blocks) {
      ++id;
      rows.push_back([this, &b, id] { recorded.add_alloc(b.born, id, b.bytes, b.key.kind, b.key.layer, b.name); });
      if (b.died < span * 2) rows.push_back([this, &b, id] { recorded.add_free(b.died, id, b.key.layer); });
    }
    for (const work& w : kernels) {
      rows.push_back([this, &w] { recorded.add_kernel(w.begin, w.end, w.name, 1 + random() % 3); });
    }
    for (const work& w : copies) {
      rows.push_back([this, &w] { recorded.add_copy(w.begin, w.end, w.bytes, w.way, w.side, 1 + random() % 3); });
    }
    std::shuffle(rows.begin(), rows.end(), random);
    for (const auto& row : rows) row();
  }

  // --- the slow way -------------------------------------------------------------------------------------------------

  std::uint64_t used_at(const memory_key& key, time_ns t) const {
    std::uint64_t sum = 0;
    for (const modelled_block& b : blocks) {
      if (b.key == key && b.born <= t && t < b.died) sum += b.bytes;
    }
    return sum;
  }

  template <class Which>
  std::vector<bool> covered(const std::vector<work>& items, Which&& which) const {
    std::vector<bool> at(static_cast<std::size_t>(2 * span), false);
    for (const work& w : items) {
      if (!which(w)) continue;
      for (time_ns t = w.begin; t < w.end; ++t) at[static_cast<std::size_t>(t)] = true;
    }
    return at;
  }

  std::mt19937_64 random;
  recording recorded;
  std::vector<modelled_block> blocks;
  std::vector<work> kernels;
  std::vector<work> copies;
};

bool overlaps(const work& w, time_range range) {
  return w.begin < range.end && (w.end > range.begin || w.begin >= range.begin);
}
time_ns inside(const work& w, time_range range) {
  return std::max<time_ns>(0, std::min(w.end, range.end) - std::max(w.begin, range.begin));
}
double bytes_inside(const work& w, time_range range) {
  if (w.end == w.begin) return static_cast<double>(w.bytes);
  return static_cast<double>(w.bytes) * static_cast<double>(inside(w, range)) / static_cast<double>(w.end - w.begin);
}
time_ns count(const std::vector<bool>& covered, time_range range) {
  return std::count(covered.begin() + range.begin, covered.begin() + range.end, true);
}

void check_memory(const random_trace& slow, const metrics::range_statistics& fast, time_range range) {
  std::map<memory_key, metrics::memory_statistics> wanted;
  for (const modelled_block& b : slow.blocks) wanted[b.key];
  std::size_t shown = 0;
  for (auto& [key, subject] : wanted) {
    subject.minimum = ~std::uint64_t{0};
    double area = 0;
    for (time_ns t = range.begin; t < range.end; ++t) {
      const std::uint64_t used = slow.used_at(key, t);
      area += static_cast<double>(used);
      subject.minimum = std::min(subject.minimum, used);
      if (used > subject.maximum || t == range.begin) {
        subject.maximum = used;
        subject.maximum_time = t;
      }
    }
    for (const modelled_block& b : slow.blocks) {
      if (!(b.key == key)) continue;
      if (b.born >= range.begin && b.born < range.end) {
        ++subject.allocations;
        subject.allocated_bytes += b.bytes;
      }
      if (b.died >= range.begin && b.died < range.end) {
        ++subject.frees;
        subject.freed_bytes += b.bytes;
      }
    }
    const auto found =
        std::find_if(fast.memory.begin(), fast.memory.end(), [&, k = key](const metrics::memory_statistics& m) {
          return m.device == k.device && m.layer == k.layer && m.kind == k.kind;
        });
    if (subject.maximum == 0 && subject.allocations == 0 && subject.frees == 0) {
      EXPECT_EQ(found, fast.memory.end());
      continue;
    }
    ++shown;
    ASSERT_NE(found, fast.memory.end());
    EXPECT_EQ(found->minimum, subject.minimum);
    EXPECT_EQ(found->maximum, subject.maximum);
    EXPECT_EQ(found->maximum_time, subject.maximum_time);
    EXPECT_EQ(found->at_begin, slow.used_at(key, range.begin - 1));
    EXPECT_EQ(found->at_begin + found->allocated_bytes - found->freed_bytes, found->at_end);
    EXPECT_EQ(found->at_end, slow.used_at(key, range.end - 1));
    EXPECT_NEAR(found->mean, area / static_cast<double>(range.length()), 1e-6);
    EXPECT_EQ(found->allocations, subject.allocations);
    EXPECT_EQ(found->allocated_bytes, subject.allocated_bytes);
    EXPECT_EQ(found->frees, subject.frees);
    EXPECT_EQ(found->freed_bytes, subject.freed_bytes);
  }
  EXPECT_EQ(fast.memory.size(), shown);
}

void check_transfers(const random_trace& slow, const metrics::range_statistics& fast, time_range range) {
  std::set<direction> ways;
  for (const work& w : slow.copies) {
    if (overlaps(w, range)) ways.insert(w.way);
  }
  ASSERT_EQ(fast.transfers.size(), ways.size());
  for (const metrics::transfer_statistics& t : fast.transfers) {
    std::uint64_t number = 0;
    double bytes = 0;
    double fastest = 0;
    time_ns total = 0;
    std::map<memory_kind, std::pair<std::uint64_t, double>> parts;
    for (const work& w : slow.copies) {
      if (w.way != t.direction || !overlaps(w, range)) continue;
      ++number;
      bytes += bytes_inside(w, range);
      total += inside(w, range);
      ++parts[w.side].first;
      parts[w.side].second += bytes_inside(w, range);
      if (w.end > w.begin)
        fastest = std::max(fastest, static_cast<double>(w.bytes) * 1e9 / static_cast<double>(w.end - w.begin));
    }
    const auto of_way = [&](const work& w) { return w.way == t.direction; };
    EXPECT_EQ(t.count, number);
    EXPECT_NEAR(t.bytes, bytes, 1e-6 * bytes);
    EXPECT_EQ(t.total, total);
    EXPECT_EQ(t.busy, count(slow.covered(slow.copies, of_way), range));
    EXPECT_DOUBLE_EQ(t.fastest_bandwidth, fastest);
    if (t.direction == direction::d2d) continue;
    ASSERT_EQ(t.parts.size(), parts.size());
    for (const metrics::transfer_part& part : t.parts) {
      const auto of_part = [&](const work& w) { return w.way == t.direction && w.side == part.host_side; };
      EXPECT_EQ(part.count, parts[part.host_side].first);
      EXPECT_NEAR(part.bytes, parts[part.host_side].second, 1e-6 * bytes + 1e-9);
      EXPECT_EQ(part.busy, count(slow.covered(slow.copies, of_part), range));
    }
  }
}

void check_device(const random_trace& slow, const metrics::range_statistics& fast, time_range range) {
  const auto every = [](const work&) { return true; };
  const std::vector<bool> kernels = slow.covered(slow.kernels, every);
  const std::vector<bool> copies = slow.covered(slow.copies, every);
  time_ns both = 0;
  time_ns copy_only = 0;
  time_ns busy = 0;
  for (time_ns t = range.begin; t < range.end; ++t) {
    const auto at = static_cast<std::size_t>(t);
    both += kernels[at] && copies[at];
    copy_only += !kernels[at] && copies[at];
    busy += kernels[at] || copies[at];
  }
  std::map<std::string, std::pair<std::uint64_t, time_ns>> names;
  time_ns total = 0;
  std::uint64_t number = 0;
  for (const work& w : slow.kernels) {
    if (!overlaps(w, range)) continue;
    ++number;
    total += inside(w, range);
    ++names[w.name].first;
    names[w.name].second += inside(w, range);
  }
  if (fast.devices.empty()) {
    EXPECT_EQ(busy, 0);
    EXPECT_EQ(number, 0U);
    return;
  }
  const metrics::device_activity& device = fast.devices[0];
  EXPECT_EQ(device.kernels, number);
  EXPECT_EQ(device.kernel_total, total);
  EXPECT_EQ(device.kernel_busy, count(kernels, range));
  EXPECT_EQ(device.copy_busy, count(copies, range));
  EXPECT_EQ(device.overlap, both);
  EXPECT_EQ(device.copy_only, copy_only);
  EXPECT_EQ(device.busy, busy);
  EXPECT_EQ(fast.kernel_names, names.size());
}

TEST(metrics, are_those_of_a_walk_over_all_rows) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    random_trace slow(seed);
    const indexed loaded(slow.recorded.open());
    for (int query = 0; query < 6; ++query) {
      const time_ns a = slow.any_time();
      const time_ns b = slow.any_time();
      const time_range range = query == 0 ? time_range{0, span} : time_range{std::min(a, b), std::max(a, b) + 1};
      const metrics::range_statistics fast = metrics::measure(loaded.index, loaded.snapshot->tables(), range);
      check_memory(slow, fast, range);
      check_transfers(slow, fast, range);
      check_device(slow, fast, range);
    }
  }
}

TEST(metrics, are_the_same_however_a_trace_grew) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    random_trace slow(seed);
    const auto file = slow.recorded.open();
    const auto now = file->latest();
    growing_index at_once;
    ASSERT_TRUE(at_once.absorb(*now, now->chunks().size()));
    growing_index piece_by_piece;
    while (!piece_by_piece.absorb(*now, 1)) {
      // Queries between the additions must not affect later results.
      static_cast<void>(metrics::measure(piece_by_piece, now->tables(), {0, span}));
    }
    const metrics::range_statistics a = metrics::measure(at_once, now->tables(), {0, span});
    const metrics::range_statistics b = metrics::measure(piece_by_piece, now->tables(), {0, span});
    ASSERT_EQ(a.memory.size(), b.memory.size());
    for (std::size_t i = 0; i < a.memory.size(); ++i) {
      EXPECT_EQ(a.memory[i].maximum, b.memory[i].maximum);
      EXPECT_DOUBLE_EQ(a.memory[i].mean, b.memory[i].mean);
    }
    ASSERT_EQ(a.devices.size(), b.devices.size());
    EXPECT_EQ(a.devices[0].overlap, b.devices[0].overlap);
  }
}

TEST(peaks, name_those_that_were_live_then) {
  for (std::uint64_t seed = 20; seed <= 26; ++seed) {
    random_trace slow(seed);
    const indexed loaded(slow.recorded.open());
    const metrics::report found = metrics::make_report(loaded.index, *loaded.snapshot);
    for (const metrics::memory_peak& peak : found.peaks) {
      const memory_key key{peak.device, peak.layer, peak.kind};
      EXPECT_EQ(peak.bytes, slow.used_at(key, peak.time));
      std::map<std::string, std::uint64_t> wanted;
      std::uint64_t live = 0;
      for (const modelled_block& b : slow.blocks) {
        if (!(b.key == key) || b.born > peak.time || b.died <= peak.time) continue;
        wanted[b.name] += b.bytes;
        ++live;
      }
      EXPECT_EQ(peak.blocks, live);
      std::uint64_t sum = peak.other_bytes;
      for (const metrics::holder& h : peak.holders) {
        EXPECT_EQ(h.bytes, wanted[std::string(loaded.snapshot->tables().text(h.name))]);
        sum += h.bytes;
      }
      EXPECT_EQ(sum, peak.bytes);
      EXPECT_TRUE(std::is_sorted(peak.holders.begin(), peak.holders.end(),
                                 [](const metrics::holder& a, const metrics::holder& b) { return a.bytes > b.bytes; }));
    }
  }
}

}  // namespace
}  // namespace sluice::index
