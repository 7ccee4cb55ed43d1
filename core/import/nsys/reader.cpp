#include "core/import/nsys/reader.hpp"

#include <new>

namespace sluice::importing {

nsys_reader::nsys_reader(const nsys_database& database, std::vector<nsys_plan> plans)
    : from_(database), plans_(std::move(plans)) {
  for (batch& each : batches_) free_.put(&each);
}

nsys_reader::~nsys_reader() { stop(); }

void nsys_reader::stop() {
  free_.close(true);
  read_.close(true);
  thread_.join();
}

void nsys_reader::run() {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    batch* filling = nullptr;
    const auto room = [&]() -> nsys_rows* {
      if (!free_.take(filling)) return nullptr;
      filling->plan = i;
      return &filling->rows;
    };
    const auto take = [&](nsys_rows*) { return read_.put(filling); };
    const nsys_plan& plan = plans_[i];
    try {
      const bool as_it_is = plan.in_time && from_.is_sorted(plan.table, {plan.order.front()});
      const std::span<const char* const> order = as_it_is ? std::span<const char* const>{} : plan.order;
      if (auto done = from_.read(plan.table, plan.columns, plan.where, order, rows_at_a_time, room, take); !done) {
        broken_.push_back({i, done.error()});
      }
    } catch (const std::bad_alloc&) {
      broken_.push_back(
          {i, error{error_code::unavailable, "there is not enough memory to read it", {}, error::no_offset, {}}});
    }
  }
  read_.close();
}

const nsys_reader::batch* nsys_reader::next() {
  if (given_ != nullptr) free_.put(given_);
  if (read_.take(given_)) return given_;
  given_ = nullptr;
  stop();
  return nullptr;
}

}  // namespace sluice::importing
