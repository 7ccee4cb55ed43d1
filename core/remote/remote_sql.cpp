#include "core/remote/remote_sql.hpp"

#include <span>
#include <utility>

#include "core/query/remote/sql_rows.hpp"
#include "core/remote/frames.hpp"

namespace sluice::remote {
namespace {

result<query::sql_result> rows_in(const result<frame>& came) {
  if (!came) return tl::unexpected(came.error());
  if (came->kind != frame_kind::rows) return fail(error_code::corrupt, "received an invalid reply");
  return query::decode_rows(came->payload);
}

query::sql_result failed(const error& why) {
  query::sql_result output;
  output.failure = why;
  return output;
}

class connected_host final : public query::sql_host {
 public:
  explicit connected_host(std::shared_ptr<connection> by) : by_(std::move(by)) {}

  std::function<void()> ask(const std::string& text, std::function<void(query::sql_result)> then) override {
    if (text.size() > max_request) {
      then(failed({error_code::invalid_argument, "the query is too long", {}, error::no_offset, {}}));
      return {};
    }
    const std::uint64_t id =
        by_->begin(frame_kind::sql, std::as_bytes(std::span(text)), [then = std::move(then)](result<frame> came) {
          auto rows = rows_in(came);
          then(rows ? std::move(*rows) : failed(rows.error()));
        });
    return [by = by_, id] { by->withdraw(id); };
  }
  bool alive() const override { return by_->alive(); }
  void end() override { by_->end(); }

 private:
  const std::shared_ptr<connection> by_;
};

}  // namespace

std::shared_ptr<query::sql_host> get_sql_host(std::shared_ptr<connection> by) {
  return std::make_shared<connected_host>(std::move(by));
}

}  // namespace sluice::remote
