using Kv.Server.Network;

namespace Kv.Tests.Network;

public class AcceptorTests
{
    // The numbers of Linux, from errno(3) and accept(2). Running out of descriptors is also made to happen: see
    // Known_P03_running_out_of_file_descriptors_does_not_end_the_listener. CVE-2025-48367.
    [Theory]
    [InlineData(11, Acceptor.Next.Wait)]            // EAGAIN: none is waiting
    [InlineData(4, Acceptor.Next.Accept)]           // EINTR
    [InlineData(103, Acceptor.Next.Accept)]         // ECONNABORTED
    [InlineData(71, Acceptor.Next.Accept)]          // EPROTO
    [InlineData(100, Acceptor.Next.Accept)]         // ENETDOWN
    [InlineData(92, Acceptor.Next.Accept)]          // ENOPROTOOPT
    [InlineData(112, Acceptor.Next.Accept)]         // EHOSTDOWN
    [InlineData(113, Acceptor.Next.Accept)]         // EHOSTUNREACH
    [InlineData(101, Acceptor.Next.Accept)]         // ENETUNREACH
    [InlineData(1, Acceptor.Next.Accept)]           // EPERM: a firewall's rule
    [InlineData(24, Acceptor.Next.BackOff)]         // EMFILE
    [InlineData(23, Acceptor.Next.BackOff)]         // ENFILE
    [InlineData(105, Acceptor.Next.BackOff)]        // ENOBUFS
    [InlineData(12, Acceptor.Next.BackOff)]         // ENOMEM
    internal void Known_P03_no_error_of_accept_ends_the_listener(int error, Acceptor.Next next) =>
        Assert.Equal(next, Acceptor.After(error));
}
