// What the knots of a density are chosen from: the nodes at which a kernel sum's distribution
// function F, its density and its partial moments are known.
#pragma once

#include "core/room.h"

#include <cstdint>

namespace kde {

class NodeSource {
 public:
  // F: mass below the node, from 0 at the first to 1 at the last. density: dF/du.
  struct Value {
    double mass = 0, density = 0;
  };
  // Integrals of u dF and u^2 dF below the node, less those below some node that is always the
  // same.
  struct Moments {
    double first = 0, second = 0;
  };

  NodeSource() = default;
  NodeSource(const NodeSource&) = default;
  NodeSource(NodeSource&&) = default;
  NodeSource& operator=(const NodeSource&) = default;
  NodeSource& operator=(NodeSource&&) = default;
  virtual ~NodeSource() = default;

  // At least two, numbered 0 .. nodes() - 1 in strictly ascending order.
  virtual std::int64_t nodes() const = 0;
  virtual double position(std::int64_t q) const = 0;
  // A few microseconds each.
  virtual Value value(std::int64_t q) const = 0;
  virtual Moments moments(std::int64_t q) const = 0;
  // A cubic that holds at nodes so many apart holds between them.
  virtual int test_stride() const = 0;
  // Whether the density has corners or jumps, which no few cubics follow.
  virtual bool has_corners() const = 0;
};

}  // namespace kde
