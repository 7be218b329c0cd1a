using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>
/// Whatever clients make a kv-server keep is in used_memory: at least four fifths of what the process grows by. It
/// leaves with them, and writes are refused for it.
/// </summary>
public sealed class WhatClientsKeepTests(ITestOutputHelper output)
{
    private const long Mb = 1 << 20;

    /// <summary>What the process grows by for other reasons: code that runs for the first time, what the collector has
    /// not collected.</summary>
    private const long OtherBytes = 24 * Mb;

    /// <summary>What may still count: what of the heap a collection found on its way out, when that is too little to
    /// look again, and what the runtime keeps of the buffers of streams for those who come next.</summary>
    private const long UnknownBytes = 16 * Mb;

    private static readonly Dictionary<string, Action<Clients>> Things = new()
    {
        ["channels"] = clients => clients.Each(1, client => Subscribe(client, "SUBSCRIBE", 60_000, 500)),
        ["short channels"] = clients => clients.Each(1, client => Subscribe(client, "SUBSCRIBE", 200_000, 8)),
        ["patterns"] = clients => clients.Each(1, client => Subscribe(client, "PSUBSCRIBE", 60_000, 500)),
        ["shard channels"] = clients => clients.Each(1, client => Subscribe(client, "SSUBSCRIBE", 60_000, 500)),
        ["watched keys"] = clients => clients.Each(
            4, (client, number) => client.Send(Words("WATCH", Names(10_000, 1000, number)))),
        ["keys that others watch, too"] =
            clients => clients.Each(80, client => client.Send(Words("WATCH", Names(10_000, 20)))),
        ["keys that are waited for"] = clients => clients.Each(
            30, (client, number) => client.Send(Words("BLPOP", [.. Names(4000, 200, number), "0"]))),
        ["keys that others wait for, too"] =
            clients => clients.Each(150, client => client.Send(Words("BLPOP", [.. Names(4000, 20), "0"]))),
        ["streams that are waited for"] = clients => clients.Each(10, client =>
            client.Send(
                Words("XREAD", ["BLOCK", "0", "STREAMS", .. Names(4000, 1000), .. Enumerable.Repeat("$", 4000)]))),
        ["a destination that is waited with"] = clients =>
        {
            clients.Each(1,
                client => client.Send(Words("BLMOVE", ["none", new string('d', 40_000_000), "LEFT", "LEFT", "0"])));
            // Before that it would be refused itself when memory is short.
            Eventually.Holds(() => clients.Other.Info("blocked_clients") == "1", () => "BLMOVE does not wait");
        },
        ["behind a command that waits"] = clients => clients.Each(1,
            client => client.Send(Concat(Words("BLPOP", ["none", "0"]), Words("ECHO", [new string('y', 40_000_000)])))),
        ["a queue of short commands"] = clients => clients.Each(1, client => Queue(client, "PING", 500_000)),
        ["a queue of values"] = clients => clients.Each(
            1, client => Queue(client, $"SET k {new string('v', 200)}", 200_000)),
        ["a queue of long values"] =
            clients => clients.Each(1, client => Queue(client, $"SET k {new string('v', 1_000_000)}", 50)),
        ["arguments of which one is missing"] = clients => clients.Each(3, client =>
            client.Send(Encoding.ASCII.GetBytes(
                "*1000000\r\n$3\r\nDEL\r\n" + string.Concat(Enumerable.Repeat("$1\r\na\r\n", 900_000))))),
        ["a value that has not arrived whole"] = clients => clients.Each(1, client =>
            client.Send(Encoding.ASCII.GetBytes(
                "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$300000000\r\n" + new string('v', 40_000_000)))),
        ["commands held by a pause"] = clients =>
        {
            clients.Other.Ok("CLIENT PAUSE 1000000 WRITE");
            clients.Each(10, client => client.Send(Words("MSET", [.. Enumerable.Repeat(new string('v', 5000), 1000)])));
        },
        ["short replies that nobody reads"] = clients => clients.Unread("GET value", 60_000),
        ["a reply that nobody reads"] = clients => clients.Unread("LRANGE list 0 -1", 1),
        ["a reply of long elements that nobody reads"] = clients => clients.Unread("LRANGE huge 0 -1", 1),
        ["a reply of EXEC that nobody reads"] = clients => clients.Unread("MULTI\nLRANGE list 0 -1\nEXEC", 1),
    };

    /// <summary>What the transport keeps; all else is kept, and counted, where it makes no difference.</summary>
    private static readonly string[] InBuffers =
    [
        "behind a command that waits", "arguments of which one is missing", "a value that has not arrived whole",
        "commands held by a pause", "short replies that nobody reads", "a reply that nobody reads",
        "a reply of long elements that nobody reads", "a reply of EXEC that nobody reads",
    ];

    public static TheoryData<string, string> All()
    {
        var data = new TheoryData<string, string>();
        foreach (string thing in Things.Keys) data.Add(thing, "epoll");
        foreach (string thing in InBuffers) data.Add(thing, "pipelines");
        return data;
    }

    [Theory, MemberData(nameof(All))]
    public void Is_in_the_account_while_it_is_kept(string thing, string transport)
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--transport", transport);
        using var other = kv.Connect(timeoutMs: 120_000);
        if (thing.Contains("repl", StringComparison.Ordinal)) MakeValues(other);
        long used = Used(other), resident = kv.ResidentBytes, grown = 0;
        using (var clients = new Clients(kv, other))
        {
            Things[thing](clients);
            Eventually.Holds(() => (grown = Used(other) - used) >= 20 * Mb
                && grown >= (kv.ResidentBytes - resident - OtherBytes) * 8 / 10,
                () => $"{grown >> 20} MB are charged, and the process has grown by "
                    + $"{(kv.ResidentBytes - resident) >> 20}");
            output.WriteLine($"{grown >> 20} MB charged, grown by {(kv.ResidentBytes - resident) >> 20}");
            // Not a share of what it has grown by: that has, for a moment, what is dead and not collected, too.
            other.Ok($"CONFIG SET maxmemory {used + UnknownBytes}");
            Eventually.Holds(
                () => other.Command("LPUSH refused x").ToString().StartsWith("-OOM", StringComparison.Ordinal),
                () => "writes are not refused");
        }

        other.Ok("CLIENT UNPAUSE");
        Eventually.Holds(() => Used(other) <= used + (grown / 8) + UnknownBytes,
            () => $"{(Used(other) - used) >> 20} of {grown >> 20} MB are still charged");
        Eventually.Holds(() => !other.Command("LPUSH taken x").IsError, () => "writes are still refused",
            timeoutMs: 120_000);    // what the runtime keeps of buffers goes with the third collection or so
    }

    private static void MakeValues(RespClient client)
    {
        client.Ok($"SET value {new string('v', 1000)}");
        for (int i = 0; i < 60; i++)
            client.Send(Words("RPUSH", ["list", .. Enumerable.Repeat(new string('e', 1000), 1000)]));
        for (int i = 0; i < 6; i++) client.Send(Words("RPUSH", ["huge", new string('h', 10_000_000)]));
        for (int i = 0; i < 66; i++) client.Read();
    }

    private static void Subscribe(RespClient client, string command, int count, int bytes)
    {
        string[] names = Names(count, bytes);
        for (int i = 0; i < count; i += 5000)
        {
            client.Send(Words(command, names[i..(i + 5000)]));
            for (int reply = 0; reply < 5000; reply++) client.Read();
        }
    }

    private static void Queue(RespClient client, string command, int count)
    {
        client.Ok("MULTI");
        byte[] words = RespText.Encode(command),
            thousand = Concat([.. Enumerable.Repeat(words, Math.Min(count, 1000))]);
        for (int i = 0; i < count; i += 1000)
        {
            client.Send(thousand);
            for (int reply = 0; reply < Math.Min(count, 1000); reply++) client.Read();
        }
    }

    private static string[] Names(int count, int bytes, int number = 0) =>
        [.. Enumerable.Range(0, count).Select(i => $"{number}:{i}:".PadRight(bytes, 'x'))];

    private static byte[] Words(string command, string[] rest) =>
        RespText.Encode([.. rest.Prepend(command).Select(RespText.Bytes)]);

    private static byte[] Concat(params byte[][] parts) => [.. parts.SelectMany(part => part)];

    private static long Used(RespClient client) => long.Parse(client.Info("used_memory"), CultureInfo.InvariantCulture);

    /// <summary>Clients that stay until all of them leave.</summary>
    private sealed class Clients(KvProcess kv, RespClient other) : IDisposable
    {
        private readonly List<IDisposable> _all = [];

        /// <summary>One that stays longer.</summary>
        public RespClient Other { get; } = other;

        public void Each(int count, Action<RespClient> act) => Each(count, (client, _) => act(client));

        public void Each(int count, Action<RespClient, int> act)
        {
            for (int i = 0; i < count; i++)
            {
                var client = kv.Connect(timeoutMs: 120_000);
                _all.Add(client);
                act(client, i);
            }
        }

        /// <summary>Sends commands and reads nothing.</summary>
        public void Unread(string lines, int times)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream,
                ProtocolType.Tcp) { ReceiveBufferSize = 4096, SendTimeout = 120_000 };
            _all.Add(socket);
            socket.Connect(kv.EndPoint);
            byte[] bytes = Concat([.. lines.Split('\n').Select(RespText.Encode)]);
            socket.Send(Concat([.. Enumerable.Repeat(bytes, times)]));
        }

        public void Dispose() => _all.ForEach(one => one.Dispose());
    }
}
