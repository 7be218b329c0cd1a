using System.Net;
using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public class BindAddressTests
{
    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1", false)]
    [InlineData("-::1", "::1", true)]
    [InlineData("*", "0.0.0.0", false)]
    [InlineData("-::*", "::", true)]
    [InlineData("[::1]", "::1", false)]
    public void Reads_an_address(string word, string address, bool optional)
    {
        Assert.True(BindAddress.TryParse(word, out var bind));
        Assert.Equal((IPAddress.Parse(address), optional), (bind.Address, bind.Optional));
        Assert.Equal([IPAddress.Parse(address)], bind.Resolve());
    }

    [Fact]
    public void Leaves_a_name_to_the_resolver()
    {
        Assert.True(BindAddress.TryParse("localhost", out var bind));
        Assert.Null(bind.Address);
        Assert.All(bind.Resolve(), address => Assert.True(IPAddress.IsLoopback(address)));
    }

    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData("6379")]
    [InlineData("1.2.3")]
    [InlineData("1.2.3.4.5")]
    [InlineData("256.0.0.1")]
    [InlineData("a b")]
    [InlineData("127.0.0.1:6379")]
    public void Refuses_what_is_neither(string word) => Assert.False(BindAddress.TryParse(word, out _));
}
