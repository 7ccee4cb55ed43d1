#include "core/import/torch/sqlite_pickle.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/import/json/json_stream.hpp"
#include "core/import/torch/json_pickle.hpp"

namespace sluice::importing::torch {
namespace {

constexpr std::int64_t max_devices = 256;
using column_type = nsys_column::type;

constexpr nsys_column block_columns[] = {{"segment_id"},
                                         {"addr"},
                                         {"address"},
                                         {"size"},
                                         {"requested_size"},
                                         {"state", column_type::text},
                                         {"frames", column_type::text}};
constexpr nsys_column segment_columns[] = {{"id"},
                                           {"device"},
                                           {"address"},
                                           {"total_size"},
                                           {"stream"},
                                           {"segment_type", column_type::text},
                                           {"is_expandable"},
                                           {"frames", column_type::text}};
constexpr nsys_column entry_columns[] = {{"action", column_type::text}, {"addr"}, {"size"}, {"stream"}, {"time_us"},
                                         {"frames", column_type::text}};
constexpr nsys_column device_column[] = {{"device"}};

byte_source get_source(std::string_view text) {
  return [text, at = std::size_t{0}](std::span<std::byte> into) mutable -> result<std::size_t> {
    const std::size_t size = std::min(into.size(), text.size() - at);
    std::memcpy(into.data(), text.data() + at, size);
    at += size;
    return size;
  };
}

bool is_array(std::string_view json) {
  json_stream tokens(get_source(json));
  auto next = tokens.next();
  if (!next || *next != json_stream::token::begin_array) return false;
  while (next && *next != json_stream::token::end) next = tokens.next();
  return next.has_value();
}

}  // namespace

bool is_snapshot_database(const nsys_database& database) {
  return database.has("device_traces", "action") ||
         (database.has("segments", "total_size") && database.has("blocks", "state"));
}

sqlite_as_pickle::sqlite_as_pickle(const nsys_database& database, job& work) : from_(database), work_(work) {}

result<void> sqlite_as_pickle::begin() {
  std::set<std::int64_t> devices;
  nsys_rows rows;
  if (from_.has("device_traces")) {
    auto read = from_.read(
        "device_traces", device_column, {}, {}, 1024, [&] { return &rows; },
        [&](const nsys_rows* got) {
          for (std::size_t i = 0; i < got->size() && devices.size() <= max_devices; ++i)
            devices.insert(got->row(i)[0] == nsys_rows::null ? 0 : got->row(i)[0]);
          return true;
        });
    if (!read) return read;
  }
  std::vector<nsys_plan> plans;
  if (from_.has("blocks")) {
    parts_.push_back({stage::blocks, 0});
    plans.push_back({"blocks", block_columns});
  }
  if (from_.has("segments")) {
    parts_.push_back({stage::segments, 0});
    plans.push_back({"segments", segment_columns});
  }
  conditions_.reserve(devices.size());
  for (const std::int64_t device : devices) {
    if (device < 0 || device >= max_devices) {
      work_.not_understood("devices with an impossible number");
      continue;
    }
    parts_.push_back({stage::traces, device});
    std::string condition;
    if (from_.has("device_traces", "device")) {
      condition = (device == 0 ? "\"device\" IS NULL OR \"device\" = " : "\"device\" = ") + std::to_string(device);
    }
    plans.push_back({"device_traces", entry_columns, 0, conditions_.emplace_back(condition), {}});
  }
  for (const auto& table : from_.tables())
    if (table.name != "blocks" && table.name != "segments" && table.name != "device_traces" && table.rows != 0)
      work_.not_understood("rows of the table " + table.name.substr(0, 80), from_.count_rows(table.name));
  reader_.emplace(from_, std::move(plans));
  if (auto started = reader_->start(); !started) return started;
  out_.begin_dictionary();
  out_.text("segments");
  out_.begin_list();
  return {};
}

/// Ends the lists of the parts before `plan`, and begins the lists of `plan`.
void sqlite_as_pickle::go_to(std::size_t plan) {
  for (; plan_ <= plan && plan_ < parts_.size(); ++plan_) {
    if (parts_[plan_].status != stage::traces) continue;
    const bool first = plan_ == 0 || parts_[plan_ - 1].status != stage::traces;
    out_.end();  // This ends the list of segments or the previous history.
    if (first) {
      out_.text("device_traces");
      out_.begin_list();
    }
    for (std::int64_t missing = first ? 0 : parts_[plan_ - 1].device + 1; missing < parts_[plan_].device; ++missing) {
      out_.begin_list();
      out_.end();
    }
    out_.begin_list();
  }
}

void sqlite_as_pickle::finish() {
  if (!parts_.empty()) go_to(parts_.size() - 1);
  out_.end();
  if (!parts_.empty() && parts_.back().status == stage::traces) out_.end();
  out_.end();
  out_.finish();
  for (const auto& [segment, blocks] : blocks_) work_.not_understood("blocks outside of segments", blocks.size());
  for (const auto& broken : reader_->broken()) {
    work_.not_understood("tables that cannot be read completely");
    work_.say(trace::severity::warning, broken.why.to_string());
  }
}

result<std::size_t> sqlite_as_pickle::read(std::span<std::byte> into) {
  std::string& text = out_.bytes();
  if (taken_ == text.size()) {
    text.clear();
    taken_ = 0;
  }
  while (!ended_ && text.size() == taken_) {
    if (const nsys_reader::batch* const batch = reader_->next()) {
      go_to(batch->plan);
      take(batch->rows, batch->plan);
    } else {
      finish();
      ended_ = true;
    }
  }
  const std::size_t size = std::min(into.size(), text.size() - taken_);
  std::memcpy(into.data(), text.data() + taken_, size);
  taken_ += size;
  return size;
}

void sqlite_as_pickle::take(const nsys_rows& rows, std::size_t plan) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t* const row = rows.row(i);
    if (parts_[plan].status == stage::blocks) take_block(rows, row);
    if (parts_[plan].status == stage::segments) take_segment(rows, row);
    if (parts_[plan].status == stage::traces) take_entry(rows, row);
  }
}

std::uint32_t sqlite_as_pickle::text_number(std::string_view text) {
  const auto [known, fresh] = text_numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.emplace_back(text);
  return known->second;
}

void sqlite_as_pickle::take_block(const nsys_rows& rows, const std::int64_t* row) {
  constexpr std::size_t overhead = 64;
  held_ += sizeof(block) + overhead + rows.text(row[6]).size();
  if (held_ > work_.memory_bytes() / 8) {
    work_.not_understood("blocks beyond the memory limit");
    return;
  }
  block output;
  output.address = row[1] == nsys_rows::null ? row[2] : row[1];
  output.bytes = row[3];
  output.requested = row[4];
  output.state = text_number(rows.text(row[5]));
  output.frames = text_number(rows.text(row[6]));
  blocks_[row[0]].push_back(output);
}

void sqlite_as_pickle::put(std::string_view key, std::int64_t cell) {
  if (cell == nsys_rows::null) return;
  out_.text(key);
  out_.integer(cell);
}

/// Writes the stack in a cell. Skips and counts a cell that is not a JSON array.
void sqlite_as_pickle::put_frames(std::string_view json) {
  if (json.empty() || json == "[]") return;
  const XXH128_hash_t hash = XXH3_128bits(json.data(), json.size());
  const auto [known, fresh] = stacks_.try_emplace({hash.high64, hash.low64});
  if (fresh ? !is_array(json) : !known->second) {
    work_.not_understood("stacks that are not JSON");
    return;
  }
  out_.text("frames");
  if (!fresh) return out_.recall(*known->second);
  json_emitter emitter(out_);
  json_stream tokens(get_source(json));
  for (auto next = tokens.next(); next && *next != json_stream::token::end; next = tokens.next())
    emitter.take(*next, tokens);
  known->second = out_.remember();
}

void sqlite_as_pickle::take_segment(const nsys_rows& rows, const std::int64_t* row) {
  out_.begin_dictionary();
  put("device", row[1]);
  put("address", row[2]);
  put("total_size", row[3]);
  put("stream", row[4]);
  if (row[5] != nsys_rows::null) {
    out_.text("segment_type");
    out_.text(rows.text(row[5]));
  }
  out_.text("is_expandable");
  out_.boolean(row[6] != nsys_rows::null && row[6] != 0);
  put_frames(rows.text(row[7]));
  out_.text("blocks");
  out_.begin_list();
  if (const auto blocks = blocks_.extract(row[0]); !blocks.empty()) {
    for (const block& each : blocks.mapped()) {
      out_.begin_dictionary();
      put("address", each.address);
      put("size", each.bytes);
      put("requested_size", each.requested);
      out_.text("state");
      out_.text(texts_[each.state]);
      put_frames(texts_[each.frames]);
      out_.end();
    }
  }
  out_.end();
  out_.end();
}

void sqlite_as_pickle::take_entry(const nsys_rows& rows, const std::int64_t* row) {
  out_.begin_dictionary();
  out_.text("action");
  out_.text(rows.text(row[0]));
  put("addr", row[1]);
  put("size", row[2]);
  put("stream", row[3]);
  put("time_us", row[4]);
  put_frames(rows.text(row[5]));
  out_.end();
}

}  // namespace sluice::importing::torch
