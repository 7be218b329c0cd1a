using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What clients make a server hold is in the account that writes are refused by, and leaves it with
/// them.</summary>
public class ClientAccountTests
{
    private const long Most = 20 * 1024 * 1024;

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Subscriptions_are_in_the_account(string transport)
    {
        string name = new('x', 1000);
        Check(transport, client =>
        {
            foreach (string command in new[] { "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE" })
            {
                for (int i = 0; i < 7000; i += 1000)
                {
                    client.Send($"{command} {string.Join(' ', Enumerable.Range(i, 1000).Select(n => $"{n}{name}"))}");
                    for (int reply = 0; reply < 1000; reply++) client.Read();
                }
            }
        });
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Many_subscriptions_of_one_channel_are_in_the_account_and_leave_it_one_by_one(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        var store = kv.Server.Store;
        using RespClient one = kv.Connect(), other = kv.Connect();
        long before = store.UsedBytes;
        string name = new('n', 100_000);
        one.Command($"SUBSCRIBE {name}");
        Eventually.Holds(() => store.UsedBytes is var used && used > before + 100_000
            && used < before + 102_000, () => $"{store.UsedBytes - before}");
        other.Command($"SUBSCRIBE {name}");
        other.Command($"SUBSCRIBE {name}");
        Eventually.Holds(() => store.UsedBytes < before + 102_000,
            () => $"a name that both have counts once: {store.UsedBytes - before}");
        one.Command($"UNSUBSCRIBE {name}");
        Eventually.Holds(() => store.UsedBytes > before + 100_000, () => $"{store.UsedBytes - before}");
        other.Command("UNSUBSCRIBE");
        Eventually.Holds(() => store.UsedBytes == before, () => $"{store.UsedBytes - before}");
    }

    // 900,000 arguments, of which the parser keeps the text and 16 bytes each.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Arguments_of_a_command_that_has_not_arrived_whole_are_in_the_account(string transport) =>
        Check(transport, client =>
            client.Send(Encoding.ASCII.GetBytes(
            "*1000000\r\n$3\r\nDEL\r\n" + string.Concat(Enumerable.Repeat("$10\r\n0123456789\r\n", 900_000)))));

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void What_a_blocked_client_has_sent_is_in_the_account(string transport) =>
        Check(transport, client =>
        {
            client.Send("BLPOP q 0");
            client.Send($"ECHO {new string('y', (int)Most)}");
        });

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void What_a_paused_client_has_sent_is_in_the_account(string transport) =>
        Check(transport, client =>
        {
            client.Ok("CLIENT PAUSE 1000000 WRITE");
            client.Send($"MSET{string.Concat(Enumerable.Repeat($" k {new string('x', 60_000)}", 400))}");
        });

    private static void Check(string transport, Action<RespClient> fill)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxmemory", Most.ToString());
        var store = kv.Server.Store;
        using var other = kv.Connect();
        other.Ok("SET k v");
        long before = store.UsedBytes;
        Assert.False(store.IsOverBudget);
        using (var client = kv.Connect())
        {
            fill(client);
            Eventually.Holds(() => store.IsOverBudget, () => $"{store.UsedBytes} bytes are charged, {before} before");
        }

        // What was kept for the client is gone with it; its input's last buffer may be a little larger than before.
        Eventually.Holds(() => store.UsedBytes <= before + 65_536,
            () => $"{store.UsedBytes} bytes are charged, {before} before");
    }
}
