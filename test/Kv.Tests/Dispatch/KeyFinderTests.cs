using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;

namespace Kv.Tests.Dispatch;

public class KeyFinderTests
{
    private const KeyAccess Read = KeyAccess.RO | KeyAccess.Access;

    [Theory]
    [InlineData("GET a", "a")]
    [InlineData("MGET a b c", "a b c")]
    [InlineData("MSET a 1 b 2", "a b")]
    [InlineData("BLPOP a b 0", "a b")]
    [InlineData("LCS a b LEN", "a b")]
    [InlineData("EVAL script 2 a b c", "a b")]
    [InlineData("XREAD COUNT 1 streams a b 0 0", "a b")]
    [InlineData("MIGRATE host 1 e 0 5 KEYS a b", "a b")]
    [InlineData("SORT a BY b", "")]
    [InlineData("XREAD COUNT 1 nothing a 0", "")]
    public void Keys_are_found(string call, string keys) => Assert.Equal(keys, Find(call));

    // A count is a client's word: nothing may be sized or walked by it.
    [Theory]
    [InlineData("EVAL script 99999999999 a")]
    [InlineData("EVAL script 9223372036854775807 a")]
    [InlineData("EVAL script -9223372036854775808 a")]
    [InlineData("EVAL script 18446744073709551616 a")]
    [InlineData("EVAL script 2147483647 a")]
    [InlineData("EVAL script 2 a")]
    [InlineData("EVAL script -1 a")]
    [InlineData("EVAL script x a")]
    [InlineData("EVAL script")]
    [InlineData("GET")]
    [InlineData("BLPOP 0")]
    public void Known_S14_a_call_whose_keys_cannot_be_is_refused_and_allocates_nothing(string call)
    {
        Assert.Equal("invalid", Find(call));
        // what loads, loads now
        With(call, static (args, spec) => Assert.Equal(KeySearch.Invalid, KeyFinder.Find(spec, args, 0, out _)),
            Spec(call));
        long before = GC.GetAllocatedBytesForCurrentThread();
        With(call, static (args, spec) => Assert.Equal(KeySearch.Invalid, KeyFinder.Find(spec, args, 0, out _)),
            Spec(call));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 4096);
    }

    [Fact]
    public void A_call_inside_other_arguments_is_searched_from_its_name()
    {
        With("COMMAND GETKEYS MSET a 1 b 2", static (args, spec) =>
        {
            Assert.Equal(KeySearch.Found, KeyFinder.Find(spec, args, 2, out var range));
            Assert.Equal(new KeyRange(1, 2, 2), range);
        }, Spec("MSET"));
    }

    [Theory]
    [InlineData("SET a 1", "OW")]
    [InlineData("SET get get", "OW")]
    [InlineData("SET a get NX", "OW")]
    [InlineData("SET a 1 NX get", "RW")]
    public void A_word_behind_the_value_decides_what_happens_to_the_key(string call, string expected)
    {
        var spec = KeySpec.At(1, KeyAccess.RW).Unless(["GET"], KeyAccess.OW, from: 3);
        var found = KeyAccess.None;
        With(call, (args, each) => found = KeyFinder.Access(each, args, 0), spec);
        Assert.Equal(Enum.Parse<KeyAccess>(expected), found);
    }

    private static KeySpec Spec(string call) => call.Split(' ')[0] switch
    {
        "GET" => KeySpec.At(1, Read),
        "MGET" => KeySpec.Range(1, -1, 1, Read),
        "MSET" => KeySpec.Range(1, -1, 2, Read),
        "BLPOP" => KeySpec.Range(1, -2, 1, Read),
        "LCS" => KeySpec.Range(1, 1, 1, Read),
        "EVAL" => KeySpec.Count(2, Read),
        "XREAD" => KeySpec.After("STREAMS", 1, -1, 1, Read, limit: 2),
        "MIGRATE" => KeySpec.After("KEYS", -2, -1, 1, Read),
        _ => KeySpec.Unknown(Read),
    };

    private static string Find(string call)
    {
        string found = "";
        With(call, (args, spec) =>
        {
            var search = KeyFinder.Find(spec, args, 0, out var range);
            var keys = new List<string>();
            for (int i = 0; i < range.Count; i++)
                keys.Add(Encoding.Latin1.GetString(args[range.First + i * range.Step].Span));
            found = search == KeySearch.Invalid ? "invalid" : string.Join(' ', keys);
        }, Spec(call));
        return found;
    }

    private delegate void Check(CommandArguments args, KeySpec spec);

    private static unsafe void With(string call, Check check, KeySpec spec)
    {
        byte[][] words = [.. call.Split(' ').Select(Encoding.Latin1.GetBytes)];
        var pins = words.Select(word => GCHandle.Alloc(word, GCHandleType.Pinned)).ToArray();
        var items = stackalloc Argument[words.Length];
        for (int i = 0; i < words.Length; i++)
            items[i] = new Argument { Pointer = (byte*)pins[i].AddrOfPinnedObject(), Length = words[i].Length };
        check(new CommandArguments(items, words.Length, null!, 0, 0, 0, null), spec);
        foreach (var pin in pins) pin.Free();
    }
}
