using System.Globalization;
using Kv.Server.Security;

namespace Kv.Tests.Security;

public class AuthFailuresTests
{
    private long _now = 1000;

    private static ReadOnlySpan<byte> User => "alice"u8;

    [Fact]
    public void The_third_failure_waits_and_each_further_one_twice_as_long_up_to_a_second()
    {
        var failures = new AuthFailures(() => _now);
        var delays = Enumerable.Range(0, 40).Select(i => failures.Add($"10.0.0.1:{i}", User)).ToArray();
        Assert.Equal([0, 0, 50, 100, 200, 400, 800, 1000, 1000], delays[..9]);
        Assert.Equal(1000, delays[^1]);
    }

    [Fact]
    public void Another_address_does_not_wait()
    {
        var failures = new AuthFailures(() => _now);
        for (int i = 0; i < 10; i++) failures.Add("10.0.0.1:5", User);
        Assert.Equal(0, failures.Add("10.0.0.2:5", User));
        Assert.Equal(0, failures.Add("[::1]:5", User));
    }

    [Fact]
    public void Success_and_a_minute_without_a_failure_make_it_forget()
    {
        var failures = new AuthFailures(() => _now);
        for (int i = 0; i < 3; i++) failures.Add("10.0.0.1:5", User);
        failures.Clear("10.0.0.1:77", User);
        Assert.Equal(0, failures.Add("10.0.0.1:5", User));

        for (int i = 0; i < 5; i++) failures.Add("10.0.0.1:5", User);
        _now += 60_001;
        Assert.Equal(0, failures.Add("10.0.0.1:5", User));
    }

    // Or who guesses one password would say a right one, of another user, after every second guess.
    [Fact]
    public void Only_the_password_that_was_got_wrong_makes_it_forget()
    {
        var failures = new AuthFailures(() => _now);
        for (int i = 0; i < 2; i++) failures.Add("10.0.0.1:5", User);
        Assert.True(failures.WouldDelay("10.0.0.1:6"));
        failures.Clear("10.0.0.1:5", "bob"u8);
        Assert.Equal(50, failures.Add("10.0.0.1:5", "carol"u8));
        failures.Clear("10.0.0.1:5", "carol"u8);
        failures.Clear("10.0.0.1:5", User);
        Assert.Equal(100, failures.Add("10.0.0.1:5", User));
        _now += 60_001;
        Assert.False(failures.WouldDelay("10.0.0.1:5"));
        Assert.Equal(0, failures.Add("10.0.0.1:5", User));
        failures.Clear("10.0.0.1:5", User);
        Assert.Equal(0, failures.Count);
        Assert.False(failures.WouldDelay("10.0.0.1:5"));
    }

    [Fact]
    public void A_flood_of_addresses_is_bounded_and_recent_ones_survive_old_ones()
    {
        var failures = new AuthFailures(() => _now);
        for (int i = 0; i < AuthFailures.AddressesMax - 1; i++) failures.Add(Invariant($"old{i}:1"), User);
        _now += 60_001;
        for (int i = 0; i < 3; i++) failures.Add("10.0.0.1:5", User);
        failures.Add("one.more:1", User);
        Assert.Equal(100, failures.Add("10.0.0.1:5", User));
        Assert.True(failures.Count <= AuthFailures.AddressesMax);
    }

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
