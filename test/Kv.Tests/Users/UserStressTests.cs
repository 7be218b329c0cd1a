using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Users are changed while their clients run commands and others log in.</summary>
public sealed class UserStressTests
{
    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public void Changes_made_under_load_are_seen_by_the_next_command_and_nobody_stays_a_deleted_user(string transport)
    {
        if (transport == "epoll") Requires.Linux("epoll");
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using RespClient admin = kv.Connect(), checker = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass ~* +@all");
        checker.Ok("AUTH u x");
        var budget = TimeBudget.OfSeconds(1.5);
        using var threads = new TestThreads();
        for (int i = 0; i < 3; i++)
        {
            int number = i;
            threads.Start(() =>
            {
                var random = Seed.NewRandom(1720 + number);
                while (!threads.IsStopping) Use(kv, random, number);
            });
        }

        // Some rounds, however slow the machine.
        for (int round = 0; (budget.Continues || round < 6) && !threads.IsStopping; round++)
        {
            admin.Ok("ACL SETUSER u -set");
            Assert.StartsWith("-NOPERM", checker.Command("SET a 1").ToString(), StringComparison.Ordinal);
            admin.Ok("ACL SETUSER u +set");
            Assert.Equal("+OK", checker.Command("SET a 1").ToString());
            admin.Ok("ACL SETUSER passing on nopass ~* +@all");
            admin.Ok("ACL DELUSER passing");
        }

        threads.Finish(TimeBudget.OfSeconds(0));
        Eventually.Holds(() => !admin.Ok("CLIENT LIST").String.Contains("user=passing", StringComparison.Ordinal),
            () => $"somebody is a user that is gone. {Seed.Hint}");
        kv.Server.Store.CheckIntegrity();
    }

    private static void Use(KvInstance kv, Random random, int number)
    {
        using var client = kv.Connect();
        try
        {
            string user = random.Next(2) == 0 ? "u" : "passing";
            if (client.Command($"AUTH {user} x").IsError) return;
            for (int i = random.Next(20); i > 0; i--)
            {
                client.Send([.. Enumerable.Range(0, 50).SelectMany(n => RespText.Encode($"SET k{number} {n}"))]);
                for (int n = 0; n < 50; n++)
                {
                    string reply = client.Read().ToString();
                    Assert.True(reply == "+OK" || reply.StartsWith("-NOPERM ", StringComparison.Ordinal), reply);
                }
            }
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            // The user was deleted.
        }
    }
}
