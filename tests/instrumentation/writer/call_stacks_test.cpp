// Call stacks become a prefix tree, regardless of the order in which stacks, frames and texts arrive.
#include <gmock/gmock.h>

#include "instrumentation/ring/producer.hpp"
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

using testing::ElementsAre;

class call_stacks_test : public record_decoder_test {
 protected:
  static std::uint64_t key(std::uint64_t number) { return ring::frame_key_bit | number; }

  void frame(thread& t, std::uint64_t number, const std::string& function, const std::string& file,
             std::uint32_t line) {
    ring::frame_record r{};
    r.key = key(number);
    r.function = text(t, function);
    r.file = text(t, file);
    r.line = line;
    r.kind = static_cast<std::uint32_t>(frame_kind::python);
    put(t, 0, r);
  }
  void stack(thread& t, std::uint64_t stack_key, std::vector<std::uint64_t> words) {
    stack(t, stack_key, words, words.size());
  }
  void stack(thread& t, std::uint64_t stack_key, const std::vector<std::uint64_t>& words, std::uint64_t count,
             std::uint64_t base = 0) {
    ring::stack_record r{};
    r.header.time = raw_time(0);
    r.key = stack_key;
    r.count = count;
    r.base = base;
    ASSERT_TRUE(t.pair.producer.put(&r.header, ring::record_type::stack, sizeof r, words.data(), words.size() * 8));
  }
  ring::module_record module(thread& t, const std::string& path, std::uint64_t begin, std::uint64_t end,
                             std::uint8_t build) {
    ring::module_record r{};
    r.path = text(t, path);
    r.base = begin - 0x1000;
    r.begin = begin;
    r.end = end;
    r.build_id[0] = build;
    r.build_id[1] = 0x0f;
    r.build_id_bytes = 2;
    return r;
  }
  void alloc_with(thread& t, time_ns time, std::uint64_t address, std::uint64_t stack_key) {
    ring::alloc_record r{};
    r.address = address;
    r.bytes = 1;
    r.device = ring::no_device;
    r.stack = stack_key;
    put(t, time, r);
  }

  /// "function file:line" of every frame, innermost first.
  static std::vector<std::string> lines(const recorded& trace, stack_id id) {
    std::vector<std::string> found;
    while (id != stack_id::none) {
      const stack_row* row = trace.tables().stacks.find(id);
      if (row == nullptr) return {"no such stack"};
      const frame_row* f = trace.tables().frames.find(row->frame);
      if (f == nullptr) return {"no such frame"};
      if (f->kind == frame_kind::native) {
        const std::string in = f->module == string_id::none ? "" : " in " + trace.text(f->module);
        found.push_back("native " + std::to_string(f->address) + in);
      } else {
        found.push_back(trace.text(f->function) + " " + trace.text(f->file) + ":" + std::to_string(f->line));
      }
      id = row->parent;
    }
    return found;
  }
};

TEST_F(call_stacks_test, an_allocation_names_its_lines_innermost_first) {
  thread& t = add_thread();
  frame(t, 1, "main", "train.py", 10);
  frame(t, 2, "step", "model.py", 20);
  stack(t, 77, {key(2), key(1)});
  alloc_with(t, 10, 0x1000, 77);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 1u);
  EXPECT_THAT(lines(trace, allocs[0].stack), ElementsAre("step model.py:20", "main train.py:10"));
  ASSERT_EQ(trace.all<live_block_event>().size(), 1u);
  EXPECT_EQ(trace.all<live_block_event>()[0].stack, allocs[0].stack);
}

TEST_F(call_stacks_test, failed_allocations_and_calls_have_them_too) {
  thread& t = add_thread();
  stack(t, 77, {1000});
  ring::alloc_failed_record failed{};
  failed.stack = 77;
  failed.device = ring::no_device;
  put(t, 10, failed);
  ring::api_call_record call{};
  call.stack = 77;
  put(t, 20, call);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_failed_event>().at(0).stack), ElementsAre("native 1000"));
  EXPECT_THAT(lines(trace, trace.all<api_call_event>().at(0).stack), ElementsAre("native 1000"));
}

TEST_F(call_stacks_test, what_stacks_share_is_written_once) {
  thread& t = add_thread();
  for (std::uint64_t leaf = 0; leaf < 10; ++leaf) {
    stack(t, 100 + leaf, {5000 + leaf, 2000, 1000});
    alloc_with(t, 10, 0x1000 * (leaf + 1), 100 + leaf);
    alloc_with(t, 20, 0x100000 * (leaf + 1), 100 + leaf);
  }
  const recorded& trace = finish();
  EXPECT_EQ(trace.tables().stacks.rows().size(), 12u);
  EXPECT_EQ(trace.tables().frames.rows().size(), 12u);
}

TEST_F(call_stacks_test, the_same_line_of_two_processes_is_one_frame_under_keys_of_their_own) {
  thread& a = add_thread();
  thread& b = add_thread(rows_->add_process(identity(200), 200));
  frame(a, 1, "main", "train.py", 10);
  frame(b, 1, "other", "train.py", 99);  // The same key: code addresses are local to a process.
  frame(b, 2, "main", "train.py", 10);
  stack(a, 77, {key(1)});
  stack(b, 77, {key(1), key(2)});
  alloc_with(a, 10, 0x1000, 77);
  alloc_with(b, 20, 0x1000, 77);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_THAT(lines(trace, allocs[0].stack), ElementsAre("main train.py:10"));
  EXPECT_THAT(lines(trace, allocs[1].stack), ElementsAre("other train.py:99", "main train.py:10"));
  EXPECT_EQ(trace.tables().stacks.rows().size(), 2u);
}

TEST_F(call_stacks_test, go_on_as_the_stack_they_name) {
  thread& t = add_thread();
  thread& worker = add_thread();
  frame(t, 1, "main", "train.py", 10);
  frame(t, 2, "forward", "model.py", 20);
  stack(worker, 88, {5000, 4000}, 2, 77);  // Arrives before the stack that it continues.
  stack(t, 77, {key(2), key(1)});
  stack(worker, 99, {6000}, 1, 88);
  stack(worker, 66, {7000}, 1, 1234);
  alloc_with(worker, 10, 0x1000, 88);
  alloc_with(worker, 20, 0x2000, 99);
  alloc_with(worker, 30, 0x3000, 66);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 3u);
  EXPECT_THAT(lines(trace, allocs[0].stack),
              ElementsAre("native 5000", "native 4000", "forward model.py:20", "main train.py:10"));
  EXPECT_THAT(lines(trace, allocs[1].stack),
              ElementsAre("native 6000", "native 5000", "native 4000", "forward model.py:20", "main train.py:10"));
  EXPECT_THAT(lines(trace, allocs[2].stack), ElementsAre("native 7000")) << "it names a stack that was never sent";
}

TEST_F(call_stacks_test, that_go_on_as_themselves_end) {
  thread& t = add_thread();
  stack(t, 1, {5000}, 1, 2);
  stack(t, 2, {6000}, 1, 1);
  stack(t, 3, {7000}, 1, 3);
  alloc_with(t, 10, 0x1000, 1);
  alloc_with(t, 20, 0x2000, 3);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(lines(trace, allocs[0].stack).front(), "native 5000");
  EXPECT_LE(lines(trace, allocs[0].stack).size(), 8u);
  EXPECT_EQ(lines(trace, allocs[1].stack).front(), "native 7000");
}

TEST_F(call_stacks_test, may_be_introduced_in_another_ring_that_is_drained_later) {
  thread& user = add_thread();
  alloc_with(user, 10, 0x1000, 77);
  turn();
  thread& teller = add_thread();
  stack(teller, 77, {key(1)});
  frame(teller, 1, "main", "train.py", 10);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack), ElementsAre("main train.py:10"));
}

TEST_F(call_stacks_test, a_frame_whose_record_was_lost_is_named_when_it_is_reported_again) {
  thread& t = add_thread();
  stack(t, 77, {key(1), 1000});
  alloc_with(t, 10, 0x1000, 77);
  turns(3);
  frame(t, 1, "main", "train.py", 10);
  stack(t, 78, {key(1)});
  alloc_with(t, 20, 0x2000, 78);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack), ElementsAre("main train.py:10", "native 1000"));
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(1).stack), ElementsAre("main train.py:10"));
}

TEST_F(call_stacks_test, a_key_that_was_never_introduced_is_no_stack) {
  thread& t = add_thread();
  alloc_with(t, 10, 0x1000, 99);
  alloc_with(t, 20, 0x2000, 0);
  const recorded& trace = finish();
  for (const alloc_event& a : trace.all<alloc_event>()) EXPECT_EQ(a.stack, stack_id::none);
  EXPECT_TRUE(trace.tables().stacks.rows().empty());
}

TEST_F(call_stacks_test, lying_counts_read_nothing_beyond_the_record) {
  thread& t = add_thread();
  stack(t, 1, {1000, 2000}, ~std::uint64_t{0});
  stack(t, 2, {}, 5);
  stack(t, 3, {3000, 4000}, 1);
  stack(t, 4, std::vector<std::uint64_t>(1000, 7));
  stack(t, 0, {1000});
  for (std::uint64_t i = 0; i < 5; ++i) alloc_with(t, 10, 0x1000 * (i + 1), i);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 5u);
  EXPECT_EQ(allocs[0].stack, stack_id::none);
  EXPECT_THAT(lines(trace, allocs[1].stack), ElementsAre("native 1000", "native 2000"));
  EXPECT_EQ(allocs[2].stack, stack_id::none);
  EXPECT_THAT(lines(trace, allocs[3].stack), ElementsAre("native 3000"));
  EXPECT_EQ(lines(trace, allocs[4].stack).size(), ring::maximum_frames);
}

TEST_F(call_stacks_test, a_key_keeps_its_first_meaning) {
  thread& t = add_thread();
  stack(t, 1, {1000});
  stack(t, 1, {2000});
  alloc_with(t, 10, 0x1000, 1);
  stack(t, 1, {3000});
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack), ElementsAre("native 1000"));
}

TEST_F(call_stacks_test, a_frame_record_under_a_program_counters_number_is_ignored) {
  thread& t = add_thread();
  ring::frame_record r{};
  r.key = 1000;
  r.line = 5;
  put(t, 0, r);
  stack(t, 1, {1000});
  alloc_with(t, 10, 0x1000, 1);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack), ElementsAre("native 1000"));
}

// ---------------------------------------------------------------------------------------------------------- modules

TEST_F(call_stacks_test, a_native_frame_is_an_address_in_its_modules_file) {
  thread& t = add_thread();
  put(t, 0, module(t, "/lib/libone.so", 0x500000, 0x600000, 0xab));
  put(t, 0, module(t, "/lib/unused.so", 0x700000, 0x800000, 0xcd));
  stack(t, 77, {0x500010, 0x5fffff, 0x600000, 0x4fffff});
  alloc_with(t, 10, 0x1000, 77);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack),
              ElementsAre("native 4112 in /lib/libone.so", "native 1052671 in /lib/libone.so", "native 6291456",
                          "native 5242879"));
  ASSERT_EQ(trace.tables().modules.rows().size(), 1u) << "a module that no stack names is not stored";
  const module_row& row = trace.tables().modules.rows()[0];
  EXPECT_EQ(row.process, trace.all<alloc_event>().at(0).process);
  EXPECT_EQ(trace.text(row.build_id), "ab0f");
  EXPECT_EQ(row.base, 0x4ff000u);
  EXPECT_EQ(row.bytes, 0x100000u);
}

TEST_F(call_stacks_test, a_module_may_be_reported_of_in_another_ring_that_is_drained_later) {
  thread& user = add_thread();
  stack(user, 77, {0x500010});
  alloc_with(user, 10, 0x1000, 77);
  turn();
  thread& teller = add_thread();
  put(teller, 5, module(teller, "/lib/libone.so", 0x500000, 0x600000, 1));
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack), ElementsAre("native 4112 in /lib/libone.so"));
}

TEST_F(call_stacks_test, the_same_stack_lies_in_another_module_once_that_was_loaded_in_its_place) {
  thread& t = add_thread();
  put(t, 0, module(t, "/lib/libone.so", 0x500000, 0x600000, 1));
  stack(t, 77, {0x500010});
  alloc_with(t, 10, 0x1000, 77);
  turns(3);
  put(t, 15, module(t, "/lib/libtwo.so", 0x4f0000, 0x580000, 2));
  alloc_with(t, 20, 0x2000, 77);
  turns(3);
  put(t, 25, module(t, "/lib/libtwo.so", 0x4f0000, 0x580000, 2));  // A module that is sent again adds nothing.
  alloc_with(t, 30, 0x3000, 77);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 3u);
  EXPECT_THAT(lines(trace, allocs[0].stack), ElementsAre("native 4112 in /lib/libone.so"));
  EXPECT_THAT(lines(trace, allocs[1].stack), ElementsAre("native 69648 in /lib/libtwo.so"));
  EXPECT_EQ(allocs[2].stack, allocs[1].stack);
  EXPECT_EQ(trace.tables().modules.rows().size(), 2u);
}

TEST_F(call_stacks_test, modules_of_two_processes_are_apart) {
  thread& a = add_thread();
  thread& b = add_thread(rows_->add_process(identity(200), 200));
  put(a, 0, module(a, "/lib/libone.so", 0x500000, 0x600000, 1));
  put(b, 0, module(b, "/lib/libone.so", 0x900000, 0xa00000, 1));
  stack(a, 77, {0x500010});
  stack(b, 77, {0x900010});
  alloc_with(a, 10, 0x1000, 77);
  alloc_with(b, 20, 0x1000, 77);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(allocs[0].stack, allocs[1].stack) << "the same address in the same file is one frame";
  EXPECT_EQ(trace.tables().modules.rows().size(), 2u);
}

TEST_F(call_stacks_test, a_module_that_makes_no_sense_is_left_out) {
  thread& t = add_thread();
  put(t, 0, module(t, "/lib/libone.so", 0x500000, 0x500000, 1));
  put(t, 0, module(t, "/lib/libone.so", 0x500000, 0x400000, 1));
  put(t, 0, module(t, "/lib/libone.so", 0x500000, ~std::uint64_t{0}, 1));
  ring::module_record lying = module(t, "/lib/libone.so", 0x800000, 0x900000, 1);
  lying.build_id_bytes = ~std::uint64_t{0};
  put(t, 0, lying);
  stack(t, 77, {0x500000, 0x800000});
  alloc_with(t, 10, 0x1000, 77);
  const recorded& trace = finish();
  EXPECT_THAT(lines(trace, trace.all<alloc_event>().at(0).stack),
              ElementsAre("native 5242880", "native 4096 in /lib/libone.so"));
}

}  // namespace
}  // namespace sluice::writer
