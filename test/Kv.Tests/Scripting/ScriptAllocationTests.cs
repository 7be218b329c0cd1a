using System.Security.Cryptography;
using System.Text;
using Kv.Tests.Commands;

namespace Kv.Tests.Scripting;

/// <summary>Short scripts leave the managed heap alone: what they make of strings and tables is used again.</summary>
public sealed class ScriptAllocationTests
{
    private const int Runs = 500;

    [Theory]
    [InlineData("return redis.call('GET', KEYS[1])", "1 k")]
    [InlineData("return redis.call('GET', KEYS[1])", "1 missing")]
    [InlineData("return 1", "0")]
    [InlineData("return KEYS[1]", "1 a")]
    [InlineData("return ARGV[1]", "0 a")]
    [InlineData("return redis.call('PING')", "0")]
    [InlineData("return redis.call('SET', KEYS[1], ARGV[1])", "1 k value-of-k")]
    [InlineData("redis.call('RPUSH', KEYS[1], 1) return redis.call('LRANGE', KEYS[1], 0, 2)", "1 l")]
    [InlineData("return redis.call('INCR', KEYS[1])", "1 n")]
    [InlineData("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
        "1 k w")]
    [InlineData("local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], 60) end "
        + "return n > 10 and 0 or 1", "1 n")]
    [InlineData("redis.call('HSET', KEYS[1], 'f', ARGV[1]) return redis.call('HGET', KEYS[1], 'f')", "1 h some-value")]
    [InlineData("local a, b = KEYS[1], #KEYS + #ARGV return b", "3 one two three four five")]
    public void Nothing_is_allocated_by(string script, string arguments)
    {
        string sha = Convert.ToHexStringLower(SHA1.HashData(Encoding.ASCII.GetBytes(script)));
        using var rig = new WindowRig($"EVALSHA {sha} {arguments}");
        rig.Other("SET k value-of-k");
        Assert.Equal($"\"{sha}\"", rig.Other($"SCRIPT LOAD \"{script}\"").ToString());
        Assert.DoesNotContain("-", rig.Run()[..1], StringComparison.Ordinal);

        Assert.Equal(0, rig.Allocated(Runs));
    }
}
