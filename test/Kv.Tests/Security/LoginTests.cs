using Kv.Tests.Harness;

namespace Kv.Tests.Security;

/// <summary>Whoever guesses passwords waits, whatever else they do.</summary>
public sealed class LoginTests
{
    private const string Wrong = "-WRONGPASS invalid username-password pair or user is disabled.";

    [Fact]
    public void Who_logs_in_without_a_password_is_not_forgiven_a_wrong_one()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("ACL SETUSER admin on >p +@all");
        client.Ok("ACL SETUSER other on >q +@all");
        for (int i = 0; i < 2; i++) Assert.Equal(Wrong, client.Command("AUTH admin guess").ToString());
        client.Ok("AUTH default x");
        client.Ok("AUTH other q");
        Assert.True(Waits(kv));
        client.Ok("AUTH admin p");
        Assert.False(Waits(kv));
    }

    // EXEC waits for nobody: it would be a way to guess a hundred thousand passwords at once.
    [Theory, InlineData("AUTH admin"), InlineData("HELLO 2 AUTH admin")]
    public void In_EXEC_an_address_that_would_have_to_wait_is_not_listened_to(string login)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("ACL SETUSER admin on >p +@all");
        client.Ok("MULTI");
        foreach (string password in new[] { "a", "p", "a", "b", "p" }) client.Ok($"{login} {password}");
        client.Ok("ACL WHOAMI");
        var replies = client.Ok("EXEC").Items!;
        Assert.Equal([true, false, true, true, true], replies.Take(5).Select(reply => reply.ToString() == Wrong));
        Assert.Equal("\"admin\"", replies[5].ToString());
        client.Ok("AUTH default x");
        client.Ok($"{login} p");
    }

    [Fact]
    public void A_name_that_nobody_can_have_is_a_wrong_one()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string name = new('n', 1024);
        client.Ok($"ACL SETUSER {name} on >p");
        client.Ok($"AUTH {name} p");
        client.Ok("AUTH default x");
        Assert.Equal(Wrong, client.Command($"AUTH {name}n p").ToString());
        Assert.Equal(new string('n', 128), client.Ok("ACL LOG").Items![0].Items![9].String);
        Assert.Equal("-ERR Usernames can't be longer than 1024 bytes",
            client.Command($"ACL SETUSER {name}n on").ToString());
    }

    private static bool Waits(KvInstance kv) => kv.Server.AuthFailures.WouldDelay("127.0.0.1:1");
}
