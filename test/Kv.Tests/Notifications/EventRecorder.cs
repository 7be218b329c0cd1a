using Kv.Tests.Harness;

namespace Kv.Tests.Notifications;

/// <summary>Holds a conversation with a server, and notes which events each line of it had.</summary>
/// <remarks>
/// Lines are commands, but for some: <c>@TX a;b</c> runs a and b in EXEC, <c>@SCRIPT a;b</c> by redis.call,
/// <c>@BLOCK c</c> sends c by another client, which waits from then on, and <c>@RESTORE from to ttl ...</c> restores
/// what DUMP says of a key.
/// </remarks>
internal sealed class EventRecorder : IDisposable
{
    private readonly TestServer _server;
    private readonly RespClient _client, _subscriber;
    private readonly List<RespClient> _blocked = [];

    public EventRecorder(TestServer server, string letters = "KEAn")
    {
        _server = server;
        _client = server.Connect();
        _client.Ok($"CONFIG SET notify-keyspace-events {letters}");
        _subscriber = server.Connect();
        _subscriber.Send("PSUBSCRIBE __key*");
        _subscriber.Read();
    }

    public RespClient Client => _client;

    /// <summary>Runs a line.</summary>
    /// <returns>Its events, as "database:event key", from both kinds of channels, which must agree.</returns>
    public string Run(string line)
    {
        string[] words = line.Split(' ', 2);
        switch (words[0])
        {
            case "@TX":
                _client.Ok("MULTI");
                foreach (string one in words[1].Split(';')) _client.Ok(one);
                _client.Ok("EXEC");
                break;
            case "@SCRIPT":
                string text = string.Concat(words[1].Split(';').Select(
                    one => $"redis.call({string.Join(", ", one.Split(' ').Select(word => $"'{word}'"))}) "));
                _client.Ok($"EVAL \"{text}\" 0");
                break;
            case "@BLOCK":
                var blocked = _server.Connect();
                _blocked.Add(blocked);
                int before = int.Parse(_client.Info("blocked_clients"));
                blocked.Send(words[1]);
                Eventually.Holds(() => int.Parse(_client.Info("blocked_clients")) > before, () => $"{line} waits");
                break;
            case "@RESTORE":
                string[] rest = words[1].Split(' ');
                byte[] dump = _client.Ok($"DUMP {rest[0]}").Text!;
                byte[][] restore = [.. new[] { "RESTORE", rest[1], rest[2] }.Select(Bytes), dump,
                    .. rest[3..].Select(Bytes)];
                _client.Command(restore);
                break;
            default:
                _client.Command(line);
                break;
        }

        return Drain();
    }

    /// <summary>The events that have come since the last look.</summary>
    public string Drain()
    {
        _client.Command("PUBLISH __keyspace@end x");
        List<string> byKey = [], byEvent = [];
        bool hasEnded = false;
        // Ends: what the store's thread publishes meanwhile comes by both kinds of channels, one right after the other.
        while (!hasEnded || byKey.Count != byEvent.Count)
        {
            var message = _subscriber.Read();
            string channel = message.Items![2].String, payload = message.Items[3].String;
            if (channel == "__keyspace@end")
            {
                hasEnded = true;
                continue;
            }

            string rest = channel[(channel.IndexOf("__:", StringComparison.Ordinal) + 3)..];
            string database = channel[(channel.IndexOf('@') + 1)..channel.IndexOf("__:", StringComparison.Ordinal)];
            if (channel.StartsWith("__keyspace", StringComparison.Ordinal)) byKey.Add($"{database}:{payload} {rest}");
            else byEvent.Add($"{database}:{rest} {payload}");
        }

        Assert.Equal(byKey, byEvent);
        return string.Join(", ", byKey);
    }

    /// <summary>Runs a line, and waits for an event that comes by itself, perhaps before the line's reply.</summary>
    /// <param name="last">The event that ends the wait.</param>
    /// <returns>All events from the line on.</returns>
    public string RunUntil(string line, string last)
    {
        string events = Run(line);
        Eventually.Holds(
            () =>
            {
                if (events.EndsWith(last, StringComparison.Ordinal)) return true;
                string more = Drain();
                if (more.Length > 0) events += events.Length > 0 ? $", {more}" : more;
                return false;
            },
            () => $"{last} has not come after {line}, but: {events}");
        return events;
    }

    public void Dispose()
    {
        foreach (var blocked in _blocked) blocked.Dispose();
        _subscriber.Dispose();
        _client.Command("CONFIG SET notify-keyspace-events \"\"");
        _client.Dispose();
    }

    private static byte[] Bytes(string word) => System.Text.Encoding.ASCII.GetBytes(word);
}
