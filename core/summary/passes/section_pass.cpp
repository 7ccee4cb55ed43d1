#include "core/summary/passes/section_pass.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/id_set.hpp"
#include "core/base/threads/thread_pool.hpp"
#include "core/index/chunk_index.hpp"
#include "core/index/section_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/passes/section_begin.hpp"
#include "core/summary/passes/section_work.hpp"
#include "core/summary/sections/boundary_blocks.hpp"

namespace sluice::summary {
namespace {

/// Number of sections to read ahead. Fewer sections are read ahead if they are large, as with many processes, because
/// they take much memory.
constexpr std::size_t max_read_ahead = 2;
constexpr std::uint64_t large_section = 200'000;  ///< In events.

/// The number of threads that take turns reading the uses of blocks of a section. One more thread reads the work.
constexpr std::size_t use_readers = 2;

}  // namespace

class section_pass::state {
 public:
  state(const recording_scan& known, const section_pass_options& options)
      : known_(known), options_(options), work_(known) {}

  void begin(std::shared_ptr<const index::step_facts> steps, section_writer& into, const std::function<bool()>& wanted,
             const std::function<bool()>& goes_on) {
    into_ = &into;
    begins_ = into.begins();
    if (next_ > 0) revised_ = revised_ || !is_judged_alike(*steps);
    span_ = index::recorded_range(of());
    wanted_ = &wanted;
    goes_on_ = &goes_on;
    steps_ = std::move(steps);
    const auto evidence = [&] {
      return judge_ ? std::pair(judge_->names_operators(), judge_->uses_known()) : std::pair(false, false);
    };
    const auto evidence_before = evidence();
    judge_.emplace(index::category_evidence{known_.clues(), steps_->lists(), known_.category_tags(), of().tables(),
                                            span_, known_.touches() > 0});
    revised_ = revised_ || (next_ > 0 && evidence() != evidence_before);
    first_samples_ = known_.first_samples();
    std::erase_if(first_samples_, [](const auto& row) { return row.type == trace::sampled_thing::counter; });
    auto whole = std::make_shared<index::recording_facts>();
    whole->chunks = std::make_shared<const index::chunk_index>(known_.chunks());
    whole->graphs = known_.graphs();
    whole->touches = known_.touches();
    whole->steps = steps_;
    for (const trace::pool_id pool : known_.pools_with_segments()) whole->pools.push_back({pool, true, false, 0});
    work_.begin(begins_, whole->chunks);
    whole_ = std::move(whole);
    only_in_checkpoints_.clear();
    for (const trace::live_block_event& row : known_.only_in_checkpoints())
      only_in_checkpoints_[find_section(begins_, bounded(row.born))].push_back(row);
    checkpoints_.clear();
    for (const recording_scan::loss_checkpoint& each : known_.loss_checkpoints())
      checkpoints_[find_section(begins_, bounded(each.about.time))].push_back(each);
    freed_known_ = false;
    verdicts_ = known_.clues().verdicts();
    born_in_checkpoints_ = known_.only_in_checkpoints().size();
  }

  bool go_until(std::size_t behind) {
    if (!find_freed(behind)) return false;
    thread_pool threads(options_.several_cores ? use_readers + 1 : 0);
    std::deque<parts> coming;
    for (std::size_t next = next_; next_ < behind; ++next_) {
      for (; next < behind && next <= next_ + max_ahead(); ++next) coming.push_back(read(next, threads));
      parts now = std::move(coming.front());
      coming.pop_front();
      if (!(*wanted_)() || !go_through(next_, now)) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t gone_through() const { return next_; }
  [[nodiscard]] std::uint64_t highest_judged() const { return highest_judged_; }
  void set_several_cores(bool several) { options_.several_cores = several; }

  /// Makes a copy that continues to the end record its assumptions about blocks allocated before the next section.
  void assume_from_here() { assumes_before_ = begins_[next_]; }

  [[nodiscard]] bool revised() const {
    return revised_ || !late_words_.empty() || (judged_until_ != latest_time && span_.end >= judged_until_);
  }

  void settle(state& ahead) {
    for (const auto& [id, now] : ahead.assumed_now_) {
      const auto [place, fresh] = assumed_.try_emplace(id, now);
      revised_ = revised_ || !place->second.holds(now);
      place->second = now;
    }
    ahead.chunks_written_ = chunks_written_ = into_->add_full_chunks(known_.chunks(), chunks_written_);
    work_.settle(*into_, ahead.work_);
  }

  section_pass_result finish() {
    if (!settle_late_words()) return {};
    into_->add_chunks(known_.chunks(), chunks_written_);
    into_->add_steps(*steps_);
    into_->add_blocks(kept_);
    work_.write_open_slices(*into_);
    samples_.settle(of().tables());
    into_->add_first_and_highest(index::first_and_highest_samples(samples_, work_.take_counters()));
    return {true, facts(), malformed_};
  }

 private:
  /// Data from later rows about a block that was already finished.
  struct late_word {
    index::uses_so_far uses;
    bool disputed = false;
  };
  /// The assumed category and last use of a block that outlives the sections so far.
  struct assumption {
    index::category category = index::category::none;
    time_ns last_use = trace::unknown_time;
    bool idle = false;  ///< True if the last use of the block was in these sections, or if it was never used.
    [[nodiscard]] bool holds(const assumption& now) const {
      return category == now.category && (!idle || last_use == now.last_use);
    }
  };
  /// The data of a section except its blocks. Null or nothing if a row could not be read.
  struct parts {
    std::future<std::unique_ptr<index::section_index>> uses;
    std::future<std::optional<std::vector<trace::last_sample_row>>> work;
  };

  [[nodiscard]] const trace::snapshot& of() const { return known_.trace(); }

  /// False if the facts from which blocks of the sections so far got their categories have changed.
  [[nodiscard]] bool is_judged_alike(const index::step_facts& steps) const {
    const time_ns until = next_ < begins_.size() ? begins_[next_] : latest_time;
    return known_.loss_checkpoints().empty() && known_.only_in_checkpoints().size() == born_in_checkpoints_ &&
           judged_alike(verdicts_, known_.clues().verdicts()) && steps_->begin_alike(steps, until);
  }

  /// Finds all blocks with a free row, if checkpoints in the sections before `behind` require them. False if stopped.
  bool find_freed(std::size_t behind) {
    const auto first = checkpoints_.lower_bound(next_);
    if (freed_known_ || first == checkpoints_.end() || first->first >= behind) return true;
    auto freed = known_.freed(*wanted_);
    if (!freed) return false;
    freed_anywhere_ = std::move(*freed);
    return freed_known_ = true;
  }

  [[nodiscard]] std::size_t max_ahead() const {
    if (!options_.several_cores) return 0;
    return known_.events() > large_section * begins_.size() ? 1 : max_read_ahead;
  }

  /// Starts to read a section on other threads. Without threads, the section is read when the result is requested.
  [[nodiscard]] parts read(std::size_t section, thread_pool& threads) {
    return {threads.start(section % use_readers, [this, section] { return read_uses(section); }),
            threads.start(use_readers, [this, section] { return work_.go_through(section, *goes_on_); })};
  }

  [[nodiscard]] std::unique_ptr<index::section_index> read_part(index::section_facts about) const {
    auto part = std::make_unique<index::section_index>(std::move(about));
    if (!part->absorb(of(), *goes_on_) || !part->is_complete()) part.reset();
    return part;
  }

  [[nodiscard]] std::unique_ptr<index::section_index> read_uses(std::size_t section) const {
    return read_part(get_begin(section, index::section_part::uses, begins_, whole_));
  }

  /// Reads the blocks of a section. Returns null if a row could not be read.
  [[nodiscard]] std::unique_ptr<index::section_index> read_blocks(
      std::size_t section, std::vector<index::block_record> carried,
      std::span<const trace::last_sample_row> samples) const {
    index::section_facts about = get_begin(section, index::section_part::memory, begins_, whole_);
    if (const auto born = only_in_checkpoints_.find(section); born != only_in_checkpoints_.end())
      about.births = born->second;
    if (const auto listing = checkpoints_.find(section); listing != checkpoints_.end()) {
      auto listed = known_.listed_by(listing->second, *wanted_);
      if (!listed) return nullptr;
      about.checkpoints = std::move(*listed);
      about.freed = &freed_anywhere_;
    }
    about.carried = std::move(carried);
    add_samples_outside(samples, about);
    return read_part(std::move(about));
  }

  /// Returns true if all of the section could be read.
  bool go_through(std::size_t section, parts& others) {
    std::vector<trace::last_sample_row> samples = first_samples_;
    samples.insert(samples.end(), samples_before_.begin(), samples_before_.end());
    const auto blocks = read_blocks(section, std::exchange(carried_, {}), samples);
    const auto uses = others.uses.get();
    auto counters = others.work.get();
    if (!blocks || !uses || !counters) return false;
    take_blocks(section, blocks->memory(), uses->touches());
    write_kept();
    take_facts(find_run(section, begins_), blocks->memory());
    take_samples(section, blocks->memory(), std::move(*counters));
    return true;
  }

  // --- blocks -------------------------------------------------------------------------------------------------------

  void take_blocks(std::size_t section, const index::memory_use& memory, const index::touch_index& uses_here) {
    const std::vector<index::uses_so_far> uses_before = std::exchange(carried_uses_, {});
    const auto carry = [&](const index::block_record& block, const index::uses_so_far& uses) {
      carried_.push_back(block);
      carried_uses_.push_back(uses);
    };
    const std::set<trace::block_id> disputed(memory.disputed().begin(), memory.disputed().end());
    std::map<std::size_t, std::vector<trace::block_category_row>> categories;
    const bool last = section + 1 == begins_.size();
    malformed_ += memory.malformed();
    take_births(births_, find_run(section, begins_), memory);
    for (std::size_t i = 0; i < memory.blocks().size(); ++i) {
      const index::block_record& block = memory.blocks()[i];
      index::uses_so_far uses = uses_here.so_far(block);
      if (i < uses_before.size()) uses.add(uses_before[i]);  // Blocks carried over from earlier sections come first.
      if (done_.contains(raw(block.id))) {
        late_word& late = late_words_[raw(block.id)];
        late.uses.add(uses);
        late.disputed = true;
        ++malformed_;
        continue;
      }
      if (disputed.contains(block.id)) disputed_.insert(raw(block.id));
      if (!block.allocated && !known_.is_born(block.id)) {
        if (block.freed()) freed_.insert(raw(block.id));
        continue;
      }
      if (!block.allocated || (!block.freed() && !last)) {
        carry(block, uses);
        continue;
      }
      finish(block, uses, categories);
    }
    births_.next_section();
    uses_here.for_each_block([&](trace::block_id id) {
      if (memory.known(id)) return;
      index::block_record unknown;
      unknown.id = id;
      const index::uses_so_far uses = uses_here.so_far(unknown);
      if (!uses.first.known()) return;
      if (done_.contains(raw(id))) {
        late_words_[raw(id)].uses.add(uses);
      } else if (known_.is_born(id)) {
        carry(unknown, uses);
      }
    });
    for (auto& [born, rows] : categories) into_->add_categories(born, rows);
  }

  static void take_births(index::birth_order& into, time_range run, const index::memory_use& memory) {
    for (const index::block_record& block : memory.blocks())
      if (block.allocated && index::holds_tensors(block.layer) && run.holds(block.born)) into.add(block);
    into.settle();
  }

  /// Finishes a block. Called in the section in which the block ends, when everything about the block is known.
  void finish(const index::block_record& block, const index::uses_so_far& uses,
              std::map<std::size_t, std::vector<trace::block_category_row>>& categories) {
    done_.insert(raw(block.id));
    saved_block output{block, {}, uses.all()};
    output.alone = index::category_judge::asks_if_alone(block, output.uses) && births_.is_alone(block);
    output.category = judge_->of(block, output.uses, output.alone);
    output.disputed = disputed_.contains(raw(block.id));
    const bool keep = is_kept(output, begins_);
    if (!output.crosses && !output.disputed && output.category.kind != index::category::none)
      categories[find_section(begins_, block.born)].push_back(get_category_row(output));
    tagged_ = tagged_ || output.category.exact();
    check(output);
    if (block.parent != trace::block_id::none) segments_.insert(block.parent);
    if (!block.imported() && block.stack != trace::stack_id::none)
      memories_[{block.device, block.layer, block.kind}].stacks = true;
    count(output, 1);
    if (!keep) return;
    kept_places_.emplace(raw(block.id), kept_begin_ + kept_.size());
    kept_uses_.push_back(uses);
    kept_.push_back(std::move(output));
  }

  /// Compares the assumptions about a block, made while it was live, with the current facts.
  void check(const saved_block& now) {
    const index::block_record& block = now.block;
    judged_until_ = std::min(judged_until_, judge_->holds_until(block));
    highest_judged_ = std::max(highest_judged_, raw(block.alloc));
    assumption output{now.category.kind, now.uses.last.time, false};
    if (const auto known = assumed_.find(raw(block.id)); known != assumed_.end()) {
      revised_ = revised_ || !known->second.holds(output);
      assumed_.erase(known);
    }
    if (!assumes_before_ || block.born >= *assumes_before_) return;
    output.idle = !now.uses.last.known() || output.last_use < *assumes_before_;
    assumed_now_.emplace(raw(block.id), output);
  }

  /// Writes the kept blocks that were finished before this section, if there are many. Later rows rarely concern
  /// them, and recordings of hundreds of processes have millions of such blocks.
  void write_kept() {
    if (const std::size_t settled = std::exchange(kept_before_, kept_.size());
        kept_.size() > options_.max_kept && settled > 0) {
      const auto behind = kept_.begin() + static_cast<std::ptrdiff_t>(settled);
      std::vector<saved_block> written(std::move_iterator(kept_.begin()), std::move_iterator(behind));
      for (const saved_block& each : written) {
        kept_places_.erase(raw(each.block.id));
        written_.insert(raw(each.block.id));
      }
      into_->add_blocks(written);
      kept_.erase(kept_.begin(), behind);
      kept_uses_.erase(kept_uses_.begin(), kept_uses_.begin() + static_cast<std::ptrdiff_t>(settled));
      kept_begin_ += settled;
      kept_before_ -= settled;
    }
  }

  void count(const saved_block& block, std::int64_t sign) {
    kind_of_memory& memory = memories_[{block.block.device, block.block.layer, block.block.kind}];
    if (block.category.kind != index::category::none) memory.categorised += sign;
    if (!block.block.imported()) memory.by_category[static_cast<std::size_t>(block.category.kind)] += sign;
  }

  /// Adds late rows to the stored data of their block. If nothing was stored for the block, reads its section again.
  /// Returns false if a row could not be read.
  bool settle_late_words() {
    std::map<std::size_t, std::vector<trace::block_category_row>> categories;
    std::map<std::size_t, std::vector<std::uint64_t>> to_read;
    for (const auto& [id, late] : late_words_) {
      if (const auto place = kept_places_.find(id); place != kept_places_.end()) {
        const std::size_t at = place->second - kept_begin_;
        amend(kept_[at], kept_uses_[at], late, categories);
      } else if (written_.contains(id)) {
        ++malformed_;  // These rows are too late, because the block is written.
      } else if (const auto born = find_born_section(id)) {
        to_read[*born].push_back(id);
      }
    }
    for (const auto& [section, ids] : to_read) {
      const auto part = read_blocks(section, {}, {});
      const auto uses_here = read_uses(section);
      if (!part || !uses_here) return false;
      index::birth_order births;
      take_births(births, find_run(section, begins_), part->memory());
      for (const std::uint64_t id : ids) {
        const index::block_record* block = part->memory().find(trace::block_id{id});
        if (block == nullptr) continue;
        index::uses_so_far uses = uses_here->touches().so_far(*block);
        saved_block output{*block, {}, uses.all()};
        output.alone = index::category_judge::asks_if_alone(*block, output.uses) && births.is_alone(*block);
        output.category = judge_->of(output.block, output.uses, output.alone);
        amend(output, uses, late_words_.at(id), categories);
        if (is_kept(output, begins_)) kept_.push_back(std::move(output));
      }
    }
    for (auto& [section, rows] : categories) into_->add_categories(section, rows);
    return true;
  }

  void amend(saved_block& kept, index::uses_so_far& uses, const late_word& late,
             std::map<std::size_t, std::vector<trace::block_category_row>>& categories) {
    count(kept, -1);
    uses.add(late.uses);
    kept.uses = uses.all();
    kept.category = judge_->of(kept.block, kept.uses, kept.alone);
    kept.disputed = kept.disputed || late.disputed;
    count(kept, 1);
    if (!kept.crosses && !kept.disputed)
      categories[find_section(begins_, kept.block.born)].push_back(get_category_row(kept));
  }

  /// Returns the section in which a block was allocated, for blocks that are live in one section only.
  [[nodiscard]] std::optional<std::size_t> find_born_section(std::uint64_t id) const {
    for (const trace::live_block_event& row : known_.only_in_checkpoints())
      if (raw(row.block) == id) return find_section(begins_, bounded(row.born));
    std::vector<trace::block_id> blocks;
    std::vector<time_ns> times;
    const auto names = [=](const index::chunk_reach& reach) {
      return id >= reach.lowest_block && id <= reach.highest_block;
    };
    const std::vector<std::size_t> chunks = *whole_->chunks->find(names);
    for (const std::size_t chunk : chunks) {
      if (of().chunks()[chunk].type != trace::row_type::alloc) continue;
      if (!of().read_column<trace::alloc_event>(chunk, &trace::alloc_event::block, blocks)) continue;
      const auto found = std::find(blocks.begin(), blocks.end(), trace::block_id{id});
      if (found == blocks.end() || !of().read_column<trace::alloc_event>(chunk, &trace::alloc_event::time, times))
        continue;
      return find_section(begins_, bounded(times[static_cast<std::size_t>(found - blocks.begin())]));
    }
    return std::nullopt;
  }

  // --- the whole recording -----------------------------------------------------------------------------------------

  /// Raises `highest` to the maximum of a section's curve in `run`.
  template <class Tree>
  void raise(double& highest, const Tree& tree, time_range run) const {
    const auto over = tree.over(std::max(run.begin, span_.begin), std::min(run.end, span_.end));
    if (!over.empty()) highest = std::max(highest, over.maximum);
  }

  void take_facts(time_range run, const index::memory_use& memory) {
    for (const auto& [key, tree] : memory.use()) {
      memories_[key].counted = true;
      raise(memories_[key].highest, tree, run);
    }
    for (const auto& [id, pool] : memory.pools()) {
      index::recording_facts::pool& subject = pools_[id];
      raise(subject.highest, pool.blocks, run);
      subject.pool = id;
      subject.has_segments = pool.has_segments;
      subject.has_blocks = subject.has_blocks || !pool.blocks.empty();
    }
  }

  /// Writes the section's samples, and finds the samples with which the next section starts. For counters, these are
  /// `counters_next`.
  void take_samples(std::size_t section, const index::memory_use& memory,
                    std::vector<trace::last_sample_row> counters_next) {
    index::counter_trees none;
    index::set_known_samples(index::first_and_highest_samples(memory, none), samples_, none);
    // For samples outside the section, `memory` does not know the untracked memory.
    const auto inside = index::device_samples_in(find_run(section, begins_), begins_[section], memory);
    index::set_known_samples(inside, samples_, none);
    index::set_known_untracked(inside, samples_);
    for (const trace::last_sample_row& each : inside)
      not_tracked_[each.device].push_back({each.device, each.sampled, each.value, raw(each.event)});
    std::vector<trace::last_sample_row> rows = std::exchange(counters_before_, std::move(counters_next));
    rows.insert(rows.end(), samples_before_.begin(), samples_before_.end());
    rows.insert(rows.end(), inside.begin(), inside.end());
    into_->add_samples(section, rows);
    if (section + 1 == begins_.size()) return;
    samples_before_ = index::samples_before(begins_[section + 1], memory, none);
    for (trace::last_sample_row& each : samples_before_) {
      const auto known = not_tracked_.find(each.device);
      if (each.type == trace::sampled_thing::device && known != not_tracked_.end())
        each.value = known->second.back().value;
    }
  }

  index::recording_facts facts() {
    index::recording_facts recording_facts = *whole_;
    std::erase_if(recording_facts.graphs, [&](const auto& subject) {
      return !done_.contains(raw(subject.block)) && !freed_.contains(raw(subject.block));
    });
    recording_facts.pools.clear();
    for (const auto& [id, pool] : pools_) recording_facts.pools.push_back(pool);
    for (const auto& [key, item] : memories_) {
      if (!item.counted) continue;
      index::recording_facts::memory& memory = recording_facts.memories.emplace_back();
      memory.key = key;
      memory.highest = item.highest;
      memory.stacks = item.stacks;
      if (item.categorised == 0) continue;
      for (std::size_t i = 0; i < index::category_count; ++i)
        if (item.by_category[i] > 0) memory.by_category.push_back({static_cast<index::category>(i), 0});
    }
    work_.put_facts(recording_facts);
    for (const auto& [device, samples] : not_tracked_)
      recording_facts.not_tracked.insert(recording_facts.not_tracked.end(), samples.begin(), samples.end());
    recording_facts.with_kernels.assign(known_.with_kernels().begin(), known_.with_kernels().end());
    recording_facts.segments.assign(segments_.begin(), segments_.end());
    recording_facts.tagged = tagged_;
    return recording_facts;
  }

  struct kind_of_memory {
    bool counted = false;  ///< True if it has a curve.
    double highest = 0;
    bool stacks = false;
    std::int64_t categorised = 0;                                      ///< Blocks with a category.
    std::array<std::int64_t, index::category_count> by_category = {};  ///< Blocks, except imported ones.
  };

  const recording_scan& known_;
  section_pass_options options_;
  std::size_t next_ = 0;            ///< The next section to process.
  std::size_t chunks_written_ = 0;  ///< Number of chunks written by `settle`.

  // Set by `begin`:
  time_range span_;
  section_writer* into_ = nullptr;
  std::span<const time_ns> begins_;
  const std::function<bool()>* wanted_ = nullptr;
  const std::function<bool()>* goes_on_ = nullptr;
  std::shared_ptr<const index::step_facts> steps_;
  std::optional<index::category_judge> judge_;
  std::vector<trace::last_sample_row> first_samples_;    ///< The first samples of pools and devices.
  std::shared_ptr<const index::recording_facts> whole_;  ///< The facts before the first section.
  std::map<std::size_t, std::vector<trace::live_block_event>> only_in_checkpoints_;  ///< Keyed by the section of the
                                                                                     ///< allocation.
  std::map<std::size_t, std::vector<recording_scan::loss_checkpoint>>
      checkpoints_;        ///< Keyed by the section that contains them.
  id_set freed_anywhere_;  ///< Valid if `freed_known_`.
  bool freed_known_ = false;

  std::vector<index::block_record> carried_;
  std::vector<index::uses_so_far> carried_uses_;  ///< For each block in `carried_`, its uses in earlier sections.
  index::birth_order births_;
  std::vector<trace::last_sample_row> samples_before_;   ///< The samples of pools and devices.
  std::vector<trace::last_sample_row> counters_before_;  ///< The samples of counters.

  // The facts from which blocks of the sections so far got their categories:
  std::map<trace::process_id, index::process_clues::verdict> verdicts_;
  std::size_t born_in_checkpoints_ = 0;
  time_ns judged_until_ = latest_time;                     ///< See `category_judge::holds_until`.
  std::uint64_t highest_judged_ = 0;                       ///< An allocation id.
  std::unordered_map<std::uint64_t, assumption> assumed_;  ///< Keyed by block id.
  bool revised_ = false;
  // For a copy that continues to the end:
  std::optional<time_ns> assumes_before_;
  std::unordered_map<std::uint64_t, assumption> assumed_now_;

  id_set done_;
  id_set freed_;  ///< Blocks that have only a free row.
  std::unordered_set<std::uint64_t> disputed_;
  std::vector<saved_block> kept_;
  std::vector<index::uses_so_far> kept_uses_;  ///< The uses of each block in `kept_`.
  std::size_t kept_begin_ = 0;                 ///< The number of blocks that were written and removed from `kept_`.
  std::size_t kept_before_ = 0;                ///< The number of blocks in `kept_` that were finished before this
                                               ///< section.
  id_set written_;
  std::unordered_map<std::uint64_t, std::size_t> kept_places_;  ///< Keyed by block id: the position among all blocks
                                                                ///< ever kept.
  std::unordered_map<std::uint64_t, late_word> late_words_;

  std::map<index::memory_key, kind_of_memory> memories_;
  std::map<trace::pool_id, index::recording_facts::pool> pools_;
  std::map<trace::device_id, std::vector<index::recording_facts::untracked>> not_tracked_;
  std::set<trace::block_id> segments_;
  bool tagged_ = false;
  std::uint64_t malformed_ = 0;
  index::memory_use samples_;  ///< The first and the highest samples of each section.
  section_work work_;
};

section_pass::section_pass(const recording_scan& known, const section_pass_options& options)
    : state_(std::make_unique<state>(known, options)) {}
section_pass::section_pass(const section_pass& other) : state_(std::make_unique<state>(*other.state_)) {
  state_->assume_from_here();
}
section_pass::~section_pass() = default;

void section_pass::begin(std::shared_ptr<const index::step_facts> steps, section_writer& into,
                         const std::function<bool()>& wanted, const std::function<bool()>& goes_on) {
  state_->begin(std::move(steps), into, wanted, goes_on);
}

bool section_pass::go_until(std::size_t behind) { return state_->go_until(behind); }
std::size_t section_pass::gone_through() const { return state_->gone_through(); }
void section_pass::set_several_cores(bool several) { state_->set_several_cores(several); }
bool section_pass::revised() const { return state_->revised(); }
std::uint64_t section_pass::highest_judged() const { return state_->highest_judged(); }
void section_pass::settle(section_pass& ahead) { state_->settle(*ahead.state_); }
section_pass_result section_pass::finish() { return state_->finish(); }

}  // namespace sluice::summary
