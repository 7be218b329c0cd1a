using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about hashes, as clients meet them, by a clock that only the test moves.</summary>
public class HashBugs
{
    // Small and large: what has expired is gone for every command at once, whoever looks first, whether it was removed
    // or not.
    [Theory]
    [InlineData(20)]
    [InlineData(2000)]
    [InlineData(6000)]
    public void Known_C11_a_field_that_expires_is_gone_for_every_command_at_once(int fields)
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        server.Server.Store.ActiveExpiry = false;      // what is not removed yet must not be seen either
        using var client = server.Connect();
        string[] looks =
        [
            "HGET h f1", "HMGET h f1 f2", "HEXISTS h f1", "HSTRLEN h f1", "HGETALL h", "HKEYS h", "HVALS h",
            "HSCAN h 0 COUNT 100000", "HRANDFIELD h", "HRANDFIELD h 100000", "HRANDFIELD h -50",
            "HTTL h FIELDS 1 f1", "HPEXPIRETIME h FIELDS 1 f1", "HPERSIST h FIELDS 1 f1", "HEXPIRE h 100 FIELDS 1 f1",
            "HDEL h f1", "HSETNX h f1 new", "HSET h f1 new", "HINCRBY h f1 1", "HINCRBYFLOAT h f1 1",
        ];
        foreach (string look in looks)
        {
            client.Ok("DEL h");
            client.Ok($"HSET h {string.Join(' ', Enumerable.Range(0, fields).Select(i => $"f{i} old{i}"))}");
            client.Ok(
                $"HPEXPIRE h 1000 FIELDS {fields - 1} "
                + $"{string.Join(' ', Enumerable.Range(1, fields - 1).Select(i => "f" + i))}");
            clock.Advance(999);
            Assert.Equal("old1", client.Ok("HGET h f1").String);
            clock.Advance(1);
            string told = client.Ok(look).ToString();
            Assert.DoesNotContain("old1", told, StringComparison.Ordinal);
            switch (look.Split(' ')[0])
            {
                case "HTTL" or "HPEXPIRETIME" or "HPERSIST"
                    or "HEXPIRE": Assert.Contains(":-2", told, StringComparison.Ordinal); break;
                case "HDEL" or "HEXISTS" or "HSTRLEN": Assert.Contains(":0", told, StringComparison.Ordinal); break;
                case "HSETNX" or "HSET" or "HINCRBY": Assert.Contains(":1", told, StringComparison.Ordinal); break;
                case "HGETALL" or "HSCAN": Assert.Contains("old0", told, StringComparison.Ordinal); break;
            }

            if (look.StartsWith("HS", StringComparison.Ordinal) || look.StartsWith("HI", StringComparison.Ordinal))
                Assert.Contains(":-", client.Ok("HTTL h FIELDS 1 f1").ToString(), StringComparison.Ordinal);
            Assert.DoesNotContain("old1", client.Ok("HGETALL h").ToString(), StringComparison.Ordinal);
        }

        client.Ok("DEL h");
        client.Ok($"HSET h {string.Join(' ', Enumerable.Range(0, fields).Select(i => $"f{i} old{i}"))}");
        client.Ok(
            $"HPEXPIRE h 1000 FIELDS {fields} {string.Join(' ', Enumerable.Range(0, fields).Select(i => "f" + i))}");
        clock.Advance(1000);
        Assert.Empty(client.Ok("HGETALL h").Items!);
        Assert.Empty(client.Ok("HRANDFIELD h 5").Items!);
        Assert.Equal(0, client.Ok("EXISTS h").Integer);
    }

    // A scan in the middle of which fields expire and are removed meets every field that stays, and none that has gone
    // before its step.
    [Fact]
    public void Known_C11_a_scan_beside_expiring_fields_meets_all_that_stay()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        using var client = server.Connect();
        for (int i = 0; i < 3000; i++) client.Ok($"HSET h stays{i} x goes{i} x");
        for (int i = 0; i < 3000; i++) client.Ok($"HPEXPIRE h {1 + i} FIELDS 1 goes{i}");
        var met = new HashSet<string>();
        string cursor = "0";
        int passed = 0;
        do
        {
            var reply = client.Ok($"HSCAN h {cursor} COUNT 20");
            cursor = reply.Items![0].String;
            for (int i = 0; i < reply.Items![1].Items!.Count; i += 2)
            {
                string field = reply.Items![1].Items![i].String;
                met.Add(field);
                if (field.StartsWith("goes", StringComparison.Ordinal))
                    Assert.True(int.Parse(field[4..]) + 1 > passed, $"{field} was gone at {passed} ms");
            }

            clock.Advance(40);
            passed += 40;
            if (passed % 400 == 0) server.Server.Store.Maintain();
        }
        while (cursor != "0");
        for (int i = 0; i < 3000; i++) Assert.Contains("stays" + i, met);
        clock.Advance(10_000);
        for (int i = 0; i < 50; i++)
            Assert.StartsWith("stays", client.Ok("HRANDFIELD h").String, StringComparison.Ordinal);
        server.Server.Store.Maintain();
        Assert.Equal(3000, client.Ok("HLEN h").Integer);
    }
}
