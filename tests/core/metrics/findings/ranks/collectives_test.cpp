// Jobs with several groups of ranks: which kernels form one collective, and the reported waits of the ranks.
#include <gtest/gtest.h>

#include "core/metrics/findings/ranks/ranks.hpp"
#include "tests/core/metrics/findings/ranks/job_recording.hpp"
#include "tests/core/metrics/reports.hpp"

namespace sluice::metrics {
namespace {

using testing::kernel;
using testing::send_and_receive;
using testing::simulated_job;
using testing::us;

/// Expects that the reported wait of each rank is right within a twentieth of the longest wait of any rank.
void expect_waits(simulated_job& job, const std::vector<rank_metrics>& ranks) {
  time_ns most = 0;
  for (const rank_metrics& each : ranks) most = std::max(most, job.waited(static_cast<std::size_t>(each.rank)));
  for (const rank_metrics& each : ranks)
    EXPECT_NEAR(static_cast<double>(each.waiting),
                static_cast<double>(job.waited(static_cast<std::size_t>(each.rank)) * us),
                static_cast<double>(most * us) / 20)
        << "rank " << each.rank;
}

/// Lengths that vary from call to call, like those of real work: uniform from 0 to `most` us.
class jitter {
 public:
  time_ns operator()(time_ns most) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<time_ns>((state_ >> 33U) % static_cast<std::uint64_t>(most + 1));
  }

 private:
  std::uint64_t state_ = 1;
};

/// A job of tensor parallel pairs {0, 1}, {2, 3}, ..., which reduce in each of 12 layers, and two data parallel groups,
/// which reduce in each of 10 steps: the first ranks of all pairs, and the second ranks. All kernels have the same
/// name. The work of each pair differs slightly from that of the others; rank `slow` computes for `more` us longer in
/// each layer.
void tensor_and_data_parallel(simulated_job& job, std::size_t pairs, std::size_t slow, time_ns more) {
  jitter differs;
  std::vector<std::size_t> firsts, seconds;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    firsts.push_back(2 * pair);
    seconds.push_back(2 * pair + 1);
  }
  for (int step = 0; step < 10; ++step) {
    for (std::size_t pair = 0; pair < pairs; ++pair)
      for (int layer = 0; layer < 12; ++layer) {
        const time_ns work = 200 + differs(60);
        for (const std::size_t rank : {2 * pair, 2 * pair + 1}) {
          job.compute(rank, work);
          if (rank == slow) job.compute(rank, more, "sort");
        }
        job.meet({2 * pair, 2 * pair + 1}, 40, 1);
      }
    job.meet(firsts, 300, 2);
    job.meet(seconds, 300, 2);
  }
}

TEST(collectives, of_tensor_and_data_parallel_groups_are_reported_apart) {
  simulated_job job(8);
  tensor_and_data_parallel(job, 4, 5, 50);
  const auto ranks = job.recording().waste().ranks;
  ASSERT_EQ(ranks.size(), 8U);
  expect_waits(job, ranks);
}

struct stages {
  std::size_t count = 4;
  std::size_t replicas = 1;
  std::size_t tensor = 1;  ///< Number of ranks in each stage of a replica.
  std::size_t slow = 99;   ///< The index of the stage whose kernels take `more` us longer.
  time_ns more = 0;
  time_ns apart = 0;  ///< A rank finishes receiving this many us after the sender has finished.
  [[nodiscard]] std::size_t ranks() const { return count * replicas * tensor; }
  [[nodiscard]] std::size_t rank(std::size_t replica, std::size_t stage, std::size_t part) const {
    return (replica * count + stage) * tensor + part;
  }
};

/// A pipeline. In each of 12 steps, 8 parts of a batch go through the stages forwards, then backwards; each rank has
/// one stream for all sends and receives. Tensor parallel ranks reduce in each of 4 layers. Before the first stage
/// requests gradients, its host reads data, which takes no longer than the other stages need until then; the hosts of
/// the other stages wait for their devices.
void pipeline(simulated_job& job, const stages& subject) {
  jitter differs;
  job.add_threads();
  const auto each_part = [&](auto&& use) {
    for (std::size_t part = 0; part < subject.tensor; ++part) use(part);
  };
  const auto work = [&](std::size_t replica, std::size_t stage, time_ns length) {
    const std::size_t layers = subject.tensor > 1 ? 4 : 1;
    const time_ns total = length + differs(10) + (stage == subject.slow ? subject.more : 0);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      std::vector<std::size_t> group;
      each_part([&](std::size_t part) {
        group.push_back(subject.rank(replica, stage, part));
        job.compute(group.back(), total / static_cast<time_ns>(layers));
      });
      if (subject.tensor > 1) job.meet(group, 5, 3);
    }
  };
  const auto send = [&](std::size_t replica, std::size_t stage) {
    each_part([&](std::size_t part) {
      job.meet({subject.rank(replica, stage, part), subject.rank(replica, stage + 1, part)}, 20, 1, send_and_receive,
               subject.apart);
    });
  };
  for (int step = 0; step < 12; ++step) {
    for (std::size_t replica = 0; replica < subject.replicas; ++replica) {
      for (std::size_t stage = 0; stage < subject.count; ++stage) {
        const time_ns late = differs(400);
        each_part([&](std::size_t part) { job.pause(subject.rank(replica, stage, part), late); });
      }
      for (int i = 0; i < 8; ++i)
        for (std::size_t stage = 0; stage < subject.count; ++stage) {
          if (stage > 0) send(replica, stage - 1);
          work(replica, stage, 200);
        }
      each_part([&](std::size_t part) { job.pause(subject.rank(replica, 0, part), 1700); });
      for (int i = 0; i < 8; ++i)
        for (std::size_t stage = subject.count; stage-- > 0;) {
          if (stage + 1 < subject.count) send(replica, stage);
          work(replica, stage, 400);
          if (stage > 0)
            each_part([&](std::size_t part) { job.wait_on_host(subject.rank(replica, stage, part), 390); });
        }
    }
    for (std::size_t stage = 0; stage < subject.count && subject.replicas > 1; ++stage)
      each_part([&](std::size_t part) {
        std::vector<std::size_t> same;
        for (std::size_t replica = 0; replica < subject.replicas; ++replica)
          same.push_back(subject.rank(replica, stage, part));
        job.meet(same, 500, 2);
      });
  }
}

TEST(collectives, of_a_pipeline_are_pairs_of_sends_and_receives) {
  simulated_job job(8);
  pipeline(job, {.replicas = 2, .slow = 2, .more = 100});
  const auto ranks = job.recording().waste().ranks;
  ASSERT_EQ(ranks.size(), 8U);
  expect_waits(job, ranks);
}

/// The delay of 13 us is that measured between four GPUs with NVLink, for 2 MiB and for 4 MiB.
TEST(collectives, of_a_pipeline_end_when_the_message_has_arrived) {
  simulated_job job(4);
  pipeline(job, {.slow = 1, .more = 300, .apart = 13});
  const auto ranks = job.recording().waste().ranks;
  ASSERT_EQ(ranks.size(), 4U);
  expect_waits(job, ranks);
}

/// GPU clocks are converted to the host's clock, and the last message takes longer to some ranks than to others: a
/// group of all ranks does not end at exactly the same time.
TEST(collectives, of_one_group_need_not_end_at_exactly_the_same_time) {
  simulated_job job(6);
  jitter differs;
  for (time_ns turn = 0; turn < 100; ++turn) {
    std::vector<time_ns> begins, ends;
    for (std::size_t rank = 0; rank < 6; ++rank) {
      begins.push_back(10 + turn * 1000 + (rank == 4 ? 400 : 100));
      ends.push_back(10 + turn * 1000 + 500 + static_cast<time_ns>(rank) * 10 + differs(20));
      kernel(job.recording(), job.process(rank), begins[rank], ends[rank], testing::all_reduce);
    }
  }
  for (const rank_metrics& each : job.recording().waste().ranks) {
    const double waited = static_cast<double>(each.waiting) / us;
    EXPECT_NEAR(waited, each.rank == 4 ? 0.0 : 100 * 300.0, 100 * 50.0) << "rank " << each.rank;
  }
}

/// The metrics of the ranks of a job, from sections of its recording.
std::vector<rank_metrics> in_sections(simulated_job& job, time_ns sections) {
  job.recording().recorded.close();
  const testing::indexed loaded(job.recording().recorded.open());
  const time_range whole = index::recorded_range(*loaded.snapshot);
  const metrics_scope scope{loaded.snapshot.get(), whole};
  ranks_builder builder(scope);
  const auto moment = [&](time_ns i) { return whole.begin + whole.length() * i / sections; };
  for (time_ns i = 0; i < sections; ++i) builder.add(loaded.index, {moment(i), moment(i + 1)});
  builder.find_peaks();
  return builder.metrics({}, {});
}

TEST(collectives, are_matched_alike_in_sections) {
  for (const time_ns sections : {7, 150}) {
    simulated_job job(8);
    tensor_and_data_parallel(job, 4, 5, 50);
    expect_waits(job, in_sections(job, sections));
    simulated_job piped(8);
    pipeline(piped, {.replicas = 2, .slow = 2, .more = 100});
    expect_waits(piped, in_sections(piped, sections));
  }
}

std::string words_about(simulated_job& job) {
  const report whole_report = testing::build_report(job.recording().recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  return found == nullptr ? std::string() : found->text;
}

TEST(rank_imbalance, names_a_slow_rank_of_one_tensor_parallel_group) {
  simulated_job job(8);
  tensor_and_data_parallel(job, 4, 5, 50);
  const std::string words = words_about(job);
  EXPECT_NE(words.find("wait for rank 5"), std::string::npos) << words;
  EXPECT_NE(words.find("is sort"), std::string::npos) << words;
}

TEST(rank_imbalance, is_none_between_groups_whose_ranks_do_the_same) {
  simulated_job job(8);
  tensor_and_data_parallel(job, 4, 99, 0);
  EXPECT_EQ(words_about(job), "");
}

TEST(rank_imbalance, is_none_between_groups_of_which_one_computes_and_the_other_communicates_more) {
  simulated_job job(4);
  jitter differs;
  for (int step = 0; step < 10; ++step) {
    for (int layer = 0; layer < 12; ++layer) {
      const time_ns work = differs(120);
      for (const std::size_t rank : {0, 1}) job.compute(rank, 190 + work);
      for (const std::size_t rank : {2, 3}) job.compute(rank, 90 + differs(1));
      job.meet({0, 1}, 40, 1);
      job.meet({2, 3}, 200, 1);
    }
    job.meet({0, 1, 2, 3}, 300, 2);
  }
  EXPECT_EQ(words_about(job), "");
}

TEST(rank_imbalance, names_the_slow_stage_of_a_pipeline) {
  simulated_job job(4);
  pipeline(job, {.slow = 2, .more = 100});
  const std::string words = words_about(job);
  EXPECT_NE(words.find("wait for rank 2"), std::string::npos) << words;
  EXPECT_NE(words.find("in sends and receives"), std::string::npos) << words;
}

TEST(rank_imbalance, names_the_slow_stage_of_a_pipeline_of_tensor_parallel_groups) {
  simulated_job job(8);
  pipeline(job, {.tensor = 2, .slow = 2, .more = 100});
  const std::string words = words_about(job);
  EXPECT_NE(words.find("wait for rank 4"), std::string::npos) << words;
  EXPECT_NE(words.find("Rank 5 waits about as little"), std::string::npos) << words;
}

TEST(rank_imbalance, is_none_where_stages_wait_for_each_other_by_design) {
  for (const std::size_t tensor : {1, 2}) {
    const stages balanced{.tensor = tensor};
    simulated_job job(balanced.ranks());
    pipeline(job, balanced);
    EXPECT_EQ(words_about(job), "");
  }
}

}  // namespace
}  // namespace sluice::metrics
