using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>NOLOOP leaves out what a client changes itself, and nothing else.</summary>
public sealed class OwnChangeTests
{
    // Whoever reads a key whose time has passed removes it.
    [Theory, InlineData("GET k"), InlineData("STRLEN k")]
    public void A_key_that_expires_while_its_reader_looks_is_told(string read)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var control = kv.Connect();
        control.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        using var client = Tracking(kv);
        string value = "_";
        long endMs = 0;
        // Ends: at a time that is long enough to read it.
        for (int ttlMs = 20; value == "_"; ttlMs *= 2)
        {
            control.Ok($"SET k v PX {ttlMs}");
            endMs = NowMs(control) + ttlMs;
            value = Reply(client, "GET k").ToString();
        }

        Eventually.Holds(() => NowMs(control) > endMs, () => "its time has not passed");
        client.Send(read);
        Assert.True(HasMessage(client, read), "it has a copy of a key that is gone");
    }

    [Fact]
    public void A_field_that_expires_while_its_reader_looks_is_told()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var control = kv.Connect();
        control.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        using var client = Tracking(kv);
        string hash = "";
        long endMs = 0;
        // Ends: at a time that is long enough to read it.
        for (int ttlMs = 20; !hash.Contains("\"a\"", StringComparison.Ordinal); ttlMs *= 2)
        {
            control.Ok("HSET h a 1 b 2");
            control.Ok($"HPEXPIRE h {ttlMs} FIELDS 1 a");
            endMs = NowMs(control) + ttlMs;
            hash = Reply(client, "HGETALL h").ToString();
        }

        Eventually.Holds(() => NowMs(control) > endMs, () => "its time has not passed");
        client.Send("HKEYS h");
        Assert.True(HasMessage(client, "HKEYS h"), "it has a copy with a field that is gone");
    }

    [Fact]
    public void Known_B06_own_changes_are_not_told_and_what_is_taken_by_one_who_waited_is_none()
    {
        using var kv = KvInstance.Start();
        using var client = Tracking(kv);
        using var waiting = Tracking(kv);
        using var broadcast = kv.Connect(resp: 3);
        broadcast.Ok("CLIENT TRACKING ON BCAST NOLOOP PREFIX to");
        using var control = kv.Connect();
        foreach (var one in (RespClient[])[client, waiting]) one.Ok("LRANGE to 0 -1");
        waiting.Send("BLMOVE from to LEFT RIGHT 0");
        Eventually.Holds(() => control.Info("blocked_clients") == "1", () => "it does not wait");
        client.Send("RPUSH from v");
        Assert.True(HasMessage(client, "RPUSH from v"), "it has a copy of a list that another client has changed");
        Assert.Equal(">[\"invalidate\" [\"to\"]]", broadcast.Read().ToString());
        // Whoever waited has changed it itself.
        Assert.Equal("\"v\"", waiting.Read().ToString());
        Assert.Equal("+PONG", waiting.Ok("PING").ToString());
        // From here on the client's own changes are its own again.
        client.Ok("LRANGE to 0 -1");
        client.Send("RPUSH to v");
        Assert.False(HasMessage(client, "RPUSH to v"), "it has changed the list itself");
    }

    /// <summary>Whether a message comes before or behind the reply to what was sent.</summary>
    private static bool HasMessage(RespClient client, string sent)
    {
        bool hasMessage = false;
        client.Send("ECHO end");
        // Ends: with the reply to ECHO.
        for (var reply = client.Read(); reply.ToString() != "\"end\""; reply = client.Read())
            hasMessage |= reply.Type == '>';
        Assert.False(client.HasInput, $"nothing comes after {sent}");
        return hasMessage;
    }

    /// <summary>The server's clock, asked without a look at any key.</summary>
    private static long NowMs(RespClient control)
    {
        var now = control.Ok("TIME").Items!;
        return (long.Parse(now[0].String) * 1000) + (long.Parse(now[1].String) / 1000);
    }

    private static RespClient Tracking(TestServer server)
    {
        var client = server.Connect(resp: 3);
        client.Ok("CLIENT TRACKING ON NOLOOP");
        return client;
    }

    private static Reply Reply(RespClient client, string command)
    {
        client.Send(command);
        var reply = client.Read();
        // Ends: with the reply.
        while (reply.Type == '>') reply = client.Read();
        return reply;
    }
}
