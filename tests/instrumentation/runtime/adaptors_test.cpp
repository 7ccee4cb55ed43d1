#include "instrumentation/runtime/adaptors.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "instrumentation/runtime/array.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/tags.hpp"
#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// The features of each resource adaptor, and the selection of the default resource.

namespace sluice::runtime {
namespace {

class adaptors : public on_each_device {
 protected:
  [[nodiscard]] resource_ptr upstream() const { return std::make_shared<device_memory_resource>(device()); }
};
SLUICE_ON_EACH_DEVICE(adaptors);

TEST_P(adaptors, need_an_upstream) { EXPECT_THROW(statistics_resource_adaptor(nullptr), error); }

TEST_P(adaptors, log_each_call_on_a_line) {
  std::ostringstream out;
  const stream_ref s(device());
  {
    logging_resource_adaptor log(std::make_shared<limiting_resource_adaptor>(upstream(), mib), out);
    void* a = log.allocate(s, 4096);
    log.deallocate(s, a, 4096);
    EXPECT_THROW((void)log.allocate(s, 2 * mib), out_of_memory);
  }
  std::istringstream in(out.str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "Thread,Time,Action,Pointer,Size,Stream");
  EXPECT_THAT(lines[1], testing::MatchesRegex("[0-9]+,[0-9]+,allocate,0x[0-9a-f]+,4096,0x0"));
  EXPECT_THAT(lines[2], testing::MatchesRegex("[0-9]+,[0-9]+,free,0x[0-9a-f]+,4096,0x0"));
  EXPECT_THAT(lines[3], testing::MatchesRegex("[0-9]+,[0-9]+,allocate failure,0x0,2097152,0x0"));
}

TEST_P(adaptors, say_when_a_log_cannot_be_written) {
  EXPECT_THROW(logging_resource_adaptor(upstream(), "/nonexistent/folder/log.csv"), error);
}

TEST_P(adaptors, count_bytes_blocks_and_failures) {
  statistics_resource_adaptor counted(std::make_shared<limiting_resource_adaptor>(upstream(), mib));
  const stream_ref s(device());
  void* a = counted.allocate(s, 1000);
  void* b = counted.allocate(s, 3000);
  counted.deallocate(s, a, 1000);
  EXPECT_THROW((void)counted.allocate(s, 2 * mib), out_of_memory);
  auto now = counted.statistics();
  EXPECT_EQ(now.bytes.current, 3000u);
  EXPECT_EQ(now.bytes.peak, 4000u);
  EXPECT_EQ(now.bytes.total, 4000u);
  EXPECT_EQ(now.blocks.current, 1u);
  EXPECT_EQ(now.blocks.peak, 2u);
  EXPECT_EQ(now.failed, 1u);
  counted.reset_peaks();
  EXPECT_EQ(counted.statistics().bytes.peak, 3000u);
  counted.deallocate(s, b, 3000);
}

TEST_P(adaptors, let_no_more_through_than_their_limit) {
  limiting_resource_adaptor limited(upstream(), 10'000);
  const stream_ref s(device());
  void* a = limited.allocate(s, 6000);
  EXPECT_THROW((void)limited.allocate(s, 4001), out_of_memory);
  EXPECT_THROW((void)limited.allocate(s, ~std::size_t{0}), out_of_memory);
  void* b = limited.allocate(s, 4000);
  EXPECT_EQ(limited.allocated(), 10'000u);
  limited.deallocate(s, a, 6000);
  limited.deallocate(s, b, 4000);
  EXPECT_EQ(limited.allocated(), 0u);
}

TEST_P(adaptors, ask_for_help_before_they_say_that_memory_is_out) {
  const auto pool =
      std::make_shared<pool_memory_resource>(upstream(), pool_options{.limit_bytes = 8 * mib, .name = "tight"});
  failure_callback_resource_adaptor helped(pool);
  const stream_ref s(device());
  void* hoard = helped.allocate(s, 6 * mib);
  std::vector<int> asked;
  helped.add([&](const out_of_memory& failure) {
    asked.push_back(1);
    EXPECT_EQ(failure.pool().used, hoard != nullptr ? 6 * mib : 4 * mib);
    return false;
  });
  EXPECT_THROW((void)helped.allocate(s, 4 * mib), out_of_memory);
  helped.add([&](const out_of_memory&) {
    asked.push_back(2);
    if (hoard == nullptr) return false;
    pool->deallocate(s, hoard, 6 * mib);
    hoard = nullptr;
    return true;
  });
  void* a = helped.allocate(s, 4 * mib);
  EXPECT_THAT(asked, testing::ElementsAre(1, 2)) << "the last one added runs first, and no others after it succeeds";
  try {
    (void)helped.allocate(s, 5 * mib);
    FAIL();
  } catch (const out_of_memory& e) {
    EXPECT_TRUE(e.from_pool());
    EXPECT_EQ(e.pool().used, 4 * mib) << "the state after the callbacks ran";
    EXPECT_EQ(e.largest_free_block(), 4 * mib);
    EXPECT_EQ(e.device(), device().id());
  }
  helped.deallocate(s, a, 4 * mib);
}

TEST_P(adaptors, hand_on_what_a_callback_throws) {
  failure_callback_resource_adaptor helped(std::make_shared<limiting_resource_adaptor>(upstream(), 0),
                                           [](const out_of_memory&) -> bool { throw std::runtime_error("mine"); });
  EXPECT_THROW((void)helped.allocate(stream_ref(device()), 1), std::runtime_error);
}

// --- functions as resources --------------------------------------------------------------------------------

TEST_P(adaptors, refuse_callbacks_that_make_no_resource) {
  const auto give = [](std::size_t, const stream_ref&) -> void* { return nullptr; };
  const auto take = [](void*, std::size_t, const stream_ref&) {};
  EXPECT_THROW(callback_memory_resource(device(), memory_space::device, nullptr, take), error);
  EXPECT_THROW(callback_memory_resource(device(), memory_space::device, give, nullptr), error);
  callback_memory_resource empty(device(), memory_space::device, give, take);
  EXPECT_THROW((void)empty.allocate(stream_ref(device()), 10), out_of_memory);
}

TEST_P(adaptors, refuse_a_callback_that_calls_itself_and_one_that_keeps_no_alignment) {
  callback_memory_resource* self = nullptr;
  alignas(512) static std::byte bytes[1024];
  int taken_back = 0;
  callback_memory_resource loop(
      device(), memory_space::pageable, [&](std::size_t n, const stream_ref& s) { return self->allocate(s, n); },
      [](void*, std::size_t, const stream_ref&) {});
  self = &loop;
  EXPECT_THROW((void)loop.allocate(stream_ref(device()), 10), error);
  callback_memory_resource odd(
      device(), memory_space::pageable, [](std::size_t, const stream_ref&) -> void* { return bytes + 8; },
      [&](void*, std::size_t, const stream_ref&) { ++taken_back; });
  EXPECT_THROW((void)odd.allocate(stream_ref(device()), 10), error);
  EXPECT_EQ(taken_back, 1);
}

TEST_P(adaptors, refuse_a_table_that_they_do_not_know) {
  sluice_resource table = export_resource(upstream());
  sluice_resource other = table;
  other.version = 9;
  EXPECT_THROW(vtable_memory_resource(device(), memory_space::device, other), error);
  other = table;
  other.deallocate = nullptr;
  EXPECT_THROW(vtable_memory_resource(device(), memory_space::device, other), error);
  EXPECT_EQ(table.allocate(table.context, ~std::size_t{0} / 2, 256, nullptr), nullptr) << "no exception reaches C";
  EXPECT_EQ(table.allocate(table.context, 100, 3, nullptr), nullptr);
  table.destroy(table.context);
}

TEST_P(adaptors, let_go_of_an_exported_resource_when_its_table_goes) {
  auto pool = std::make_shared<pool_memory_resource>(upstream());
  const std::weak_ptr<pool_memory_resource> watch = pool;
  {
    vtable_memory_resource through(device(), memory_space::device, export_resource(std::move(pool)));
    const stream s(device());
    void* a = through.allocate(s, mib);
    EXPECT_EQ(watch.lock()->stats().used, mib);
    through.deallocate(s, a, mib);
  }
  EXPECT_TRUE(watch.expired());
}

// --- the current resource ----------------------------------------------------------------------------------

TEST_P(adaptors, serve_a_scope_of_one_thread_and_nest) {
  const auto outer = std::make_shared<statistics_resource_adaptor>(upstream());
  const auto inner = std::make_shared<statistics_resource_adaptor>(upstream());
  {
    const scoped_resource a(outer);
    EXPECT_EQ(current_resource(device()), outer);
    try {
      const scoped_resource b(inner);
      const device_buffer buffer(1000, stream_ref(device()));
      EXPECT_EQ(inner->statistics().bytes.current, 1000u);
      throw 1;
    } catch (int) {
      EXPECT_EQ(current_resource(device()), outer) << "restored at the end of the scope";
    }
    std::thread([&] {
      const device_guard here(device());
      EXPECT_NE(current_resource(device()), outer) << "another thread has its own";
    }).join();
    const device_ref other(backend::make_simulated_device());
    EXPECT_NE(current_resource(other), outer) << "and so has another device";
  }
  EXPECT_NE(current_resource(device()), outer);
  EXPECT_THROW(scoped_resource(nullptr), error);
}

TEST_P(adaptors, serve_pinned_memory_apart_from_device_memory) {
  const auto pinned = std::make_shared<pinned_pool_resource>(device());
  const auto before = current_resource(device());
  const auto first = set_current_pinned_resource(device(), pinned);
  EXPECT_EQ(first->space(), memory_space::pinned);
  EXPECT_EQ(current_pinned_resource(device()), pinned);
  EXPECT_EQ(current_resource(device())->space(), memory_space::device);
  {
    const pinned_buffer buffer(mib, stream_ref(device()));
    EXPECT_EQ(pinned->stats().used, mib) << "buffers use it";
  }
  {
    const scoped_resource scope(std::make_shared<pinned_memory_resource>(device()));
    EXPECT_NE(current_pinned_resource(device()), pinned);
  }
  EXPECT_EQ(set_current_pinned_resource(device(), nullptr), pinned);
}

TEST_P(adaptors, may_use_the_pool_that_grows_over_them) {
  const stream s;
  const auto bounded =
      std::make_shared<limiting_resource_adaptor>(std::make_shared<device_memory_resource>(device()), 8 * mib);
  std::shared_ptr<pool_memory_resource> pool;
  std::vector<void*> held;
  int asked = 0;
  const auto helps = std::make_shared<failure_callback_resource_adaptor>(bounded, [&](const out_of_memory&) {
    ++asked;
    if (held.empty()) return false;
    // Both blocks are larger than those that a thread keeps, and each allocation is a miss.
    pool->deallocate(s, held.back(), 4 * mib);
    held.pop_back();
    pool->deallocate(s, pool->allocate(s, 100), 100);
    pool->trim();
    return true;
  });
  pool = std::make_shared<pool_memory_resource>(
      helps, pool_options{.limit_bytes = 64 * mib, .growth_bytes = 4 * mib, .front_bytes = 512});
  for (int i = 0; i < 2; ++i) held.push_back(pool->allocate(s, 4 * mib));
  void* more = pool->allocate(s, 4 * mib);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(pool->stats().used, 8 * mib);
  pool->deallocate(s, more, 4 * mib);
  pool->deallocate(s, held.back(), 4 * mib);
  EXPECT_THROW((void)pool->allocate(s, 16 * mib), out_of_memory) << "no callback frees memory";

  helps->add([](const out_of_memory&) -> bool { throw std::runtime_error("no help"); });
  EXPECT_THROW((void)pool->allocate(s, 16 * mib), std::runtime_error) << "its exception reaches the caller";
  EXPECT_EQ(pool->stats().used, 0u) << "and the pool still works";
}

TEST_P(adaptors, serve_pinned_arrays_and_copies_to_the_host) {
  const auto pinned = std::make_shared<pinned_pool_resource>(device());
  const stream s;
  const device_array<float, 1> there({1000}, storage_order::c, s);
  set_async(there.data(), 0, 4000, s);
  const scoped_resource scope(pinned);
  {
    const pinned_array<float, 1> array({1000}, storage_order::c, {}, s);
    EXPECT_EQ(pinned->stats().requested, 4000u);
    const auto copied = copy_to_host(there, s).get();
    EXPECT_EQ(pinned->stats().requested, 8000u);
    EXPECT_EQ(copied(999), 0.0F);
    const pinned_array<float, 1> combined({1000}, storage_order::c, {.write_combined = true}, s);
    EXPECT_EQ(pinned->stats().requested, 8000u) << "memory with special flags is allocated with them";
  }
  EXPECT_EQ(pinned->stats().requested, 0u);
}

TEST_P(adaptors, are_set_only_where_they_fit) {
  const device_ref other(backend::make_simulated_device());
  const auto elsewhere = std::make_shared<device_memory_resource>(other);
  const auto pinned = std::make_shared<pinned_memory_resource>(device());
  const auto on_device = std::make_shared<device_memory_resource>(device());
  EXPECT_THROW(set_current_resource(device(), elsewhere), error);
  EXPECT_THROW(set_current_resource(device(), pinned), error);
  EXPECT_THROW(set_current_pinned_resource(device(), on_device), error);
  EXPECT_EQ(current_resource(device())->space(), memory_space::device) << "as it was";
  EXPECT_EQ(current_pinned_resource(device())->space(), memory_space::pinned);
}

TEST(scoped_tags, nest_and_end_with_their_scope) {
  EXPECT_EQ(scoped_tag::current(), "");
  {
    const scoped_tag step("step");
    {
      const scoped_tag forward("forward");
      EXPECT_EQ(scoped_tag::current(), "step/forward");
      std::thread([] { EXPECT_EQ(scoped_tag::current(), "") << "local to one thread"; }).join();
    }
    EXPECT_EQ(scoped_tag::current(), "step");
  }
  EXPECT_EQ(scoped_tag::current(), "");
}

}  // namespace
}  // namespace sluice::runtime
