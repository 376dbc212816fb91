// Whether a test leaves descriptors open.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

namespace kde::testing {

// Of this process; the one that reads the directory counts too, every time.
inline int count_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Counts descriptors before and after.
class LeaksNoDescriptor : public ::testing::Test {
 protected:
  void SetUp() override { descriptors_ = count_descriptors(); }
  void TearDown() override { EXPECT_EQ(count_descriptors(), descriptors_); }

 private:
  int descriptors_ = 0;
};

}  // namespace kde::testing
