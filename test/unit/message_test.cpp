// Messages in pieces, and to nobody.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include <limits>
#include <thread>
#include <vector>

#include "core/device/message.h"
#include "descriptors.h"
#include "scripted_service.h"

namespace kde {
namespace {

using testing::Peer;

class Message : public testing::LeaksNoDescriptor {};

// Goes on until it has been asked `limit` times.
class TestWaiter : public Waiter {
 public:
  Status go_on() override {
    ++asked;
    return asked < limit ? Status::success() : Status::error(Code::cancelled, "enough");
  }
  int asked = 0;
  int limit = std::numeric_limits<int>::max();
};

// A message many times as long as what the socket holds arrives whole, with its descriptor.
TEST_F(Message, SendsInPieces) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor sender(ends[0]);
  const int size = 4096;
  ASSERT_EQ(::setsockopt(sender.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
  wire::Full body;
  body.once = 3;
  std::vector<double> numbers(100'000);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<double>(k);
  const Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  std::thread receiver([&] {
    Peer peer(ends[1]);
    ASSERT_TRUE(peer.receive());
    EXPECT_EQ(peer.type, wire::Type::full);
    EXPECT_TRUE(peer.descriptor.is_open());
    std::vector<double> received;
    EXPECT_EQ(peer.request<wire::Full>(&received).once, 3);
    EXPECT_EQ(received, numbers);
    EXPECT_FALSE(peer.receive());
  });
  TestWaiter waiter;
  const Status s =
      send_message(sender.get(), wire::Type::full, {bytes_of(body), numbers, file.get()}, waiter);
  EXPECT_TRUE(s.ok()) << s.message;
  ::shutdown(sender.get(), SHUT_WR);
  receiver.join();
}

TEST_F(Message, StopsSending) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor sender(ends[0]);
  Descriptor deaf(ends[1]);
  const std::vector<double> numbers(1'000'000);
  TestWaiter waiter;
  waiter.limit = 3;
  EXPECT_EQ(send_message(sender.get(), wire::Type::full, {{}, numbers}, waiter).code,
            Code::cancelled);
  EXPECT_EQ(waiter.asked, 3);
  // Hung up: its last words are for receive_bytes to look for.
  deaf.reset();
  EXPECT_TRUE(send_message(sender.get(), wire::Type::full, {{}, numbers}, waiter).ok());
  std::byte b{};
  EXPECT_EQ(receive_bytes(sender.get(), {&b, 1}, waiter).code, Code::failed);
}

}  // namespace
}  // namespace kde
