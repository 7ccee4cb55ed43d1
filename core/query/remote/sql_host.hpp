#pragma once

#include "core/query/sql/sql_task.hpp"

namespace sluice::query {

/// The host that has a recording which is shown here. It runs SQL where the recording is. Thread-safe.
class sql_host {
 public:
  virtual ~sql_host() = default;
  /// Runs a query there: see `sql_task::asker`.
  virtual std::function<void()> ask(const std::string& text, std::function<void(sql_result)> then) = 0;
  /// False once the host can no longer be reached.
  [[nodiscard]] virtual bool alive() const = 0;
  /// Ends the connection, so that nothing waits for the host any more.
  virtual void end() = 0;
};

}  // namespace sluice::query
