using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>CLIENT TRACKING ON REDIRECT: another connection gets the messages, as with the reference.</summary>
public sealed class RedirectionTests
{
    [Fact]
    public void Messages_go_to_the_other_connection_as_with_the_reference() => Compare(server =>
    {
        using var conversation = new Conversation(server, data: 2, listener: 2);
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $b", "CLIENT GETREDIR", "CLIENT TRACKINGINFO", "GET k");
        // It does not subscribe to anything yet: in RESP2 it would take a message for a reply.
        conversation.Say("w", "SET k 1");
        conversation.Say("b", "PING", "SUBSCRIBE __redis__:invalidate");
        conversation.Say("a", "GET k");
        conversation.Say("w", "SET k 2");
        conversation.Read("b");
        conversation.Say("w", "FLUSHALL");
        conversation.Read("b");
        conversation.Say("a", "GET k", "SET k 4", "CLIENT TRACKING OFF", "CLIENT TRACKING ON BCAST REDIRECT $b");
        conversation.Read("b");
        conversation.Say("w", "MSET x 1 y 2");
        conversation.Read("b");
        conversation.Say("a", "CLIENT INFO");
        return conversation.Log;
    });

    [Fact]
    public void Any_subscription_makes_a_listener_of_a_connection_of_RESP2() => Compare(server =>
    {
        using var conversation = new Conversation(server, data: 3, listener: 2);
        conversation.Say("b", "SUBSCRIBE other");
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $b", "GET k");
        conversation.Say("w", "SET k 1");
        conversation.Read("b");
        conversation.Say("b", "UNSUBSCRIBE other");
        conversation.Say("a", "GET k");
        conversation.Say("w", "SET k 1");
        conversation.Say("b", "PING", "PING");
        return conversation.Log;
    });

    [Fact]
    public void A_connection_of_RESP3_needs_no_subscription() => Compare(server =>
    {
        using var conversation = new Conversation(server, data: 3, listener: 3);
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $b", "GET k", "SET k 1");
        conversation.Read("b");
        conversation.Say("w", "FLUSHALL");
        conversation.Read("b");
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $a", "GET k", "SET k 2");
        conversation.Read("a");
        return conversation.Log;
    });

    [Theory, InlineData(2), InlineData(3)]
    public void Known_B06_who_redirects_to_a_client_that_has_left_is_told(int resp) => Compare(server =>
    {
        using var conversation = new Conversation(server, data: resp, listener: 3);
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $b", "GET k", "CLIENT TRACKINGINFO");
        conversation.Leave("b");
        conversation.Say("a", "CLIENT TRACKINGINFO");
        conversation.Say("w", "SET k 1");
        if (resp == 3) conversation.Read("a");
        conversation.Say("a", "CLIENT TRACKINGINFO", "CLIENT GETREDIR", "CLIENT INFO", "GET k");
        conversation.Say("w", "FLUSHALL");
        if (resp == 3) conversation.Read("a");
        conversation.Say("a", "CLIENT TRACKING ON", "CLIENT TRACKINGINFO", "CLIENT TRACKING ON REDIRECT $b");
        return conversation.Log;
    });

    [Fact]
    public void Two_redirections_are_refused() => Compare(server =>
    {
        using var conversation = new Conversation(server, data: 3, listener: 3);
        conversation.Say("a", "CLIENT TRACKING ON REDIRECT $b REDIRECT $b", "CLIENT TRACKINGINFO");
        return conversation.Log;
    });

    private static void Compare(Func<TestServer, List<string>> talk)
    {
        using var redis = SharedServers.Redis();
        using var kv = SharedServers.Kv();
        Assert.Equal(talk(redis.Server), talk(kv.Server));
    }

    /// <summary>Three clients: one with data (a), one that listens (b), one that writes (w).</summary>
    private sealed class Conversation : IDisposable
    {
        private readonly TestServer _server;
        private readonly Dictionary<string, (RespClient Client, string Id)> _clients = [];

        public Conversation(TestServer server, int data, int listener)
        {
            _server = server;
            foreach (var (name, resp) in (ReadOnlySpan<(string, int)>)[("a", data), ("b", listener), ("w", 2)])
            {
                var client = server.Connect(resp);
                _clients[name] = (client, $"{client.Ok("CLIENT ID").Integer}");
            }
        }

        /// <summary>What was said, with names for the numbers of clients.</summary>
        public List<string> Log { get; } = [];

        public void Say(string name, params string[] commands)
        {
            foreach (string command in commands)
            {
                string line = command;
                foreach (var (other, one) in _clients)
                    line = line.Replace("$" + other, one.Id, StringComparison.Ordinal);
                Note($"{name}> {command}", _clients[name].Client.Command(line).ToString());
            }
        }

        public void Read(string name) => Note($"{name}:", _clients[name].Client.Read().ToString());

        public void Leave(string name)
        {
            _clients[name].Client.Dispose();
            using var control = _server.Connect();
            Eventually.Holds(() => !control.Ok($"CLIENT LIST ID {_clients[name].Id}").ToString().Contains("id=", Is),
                () => "it is still there");
        }

        public void Dispose()
        {
            foreach (var (client, _) in _clients.Values) client.Dispose();
        }

        private const StringComparison Is = StringComparison.Ordinal;

        private void Note(string what, string reply)
        {
            foreach (var (other, one) in _clients)
            {
                reply = reply.Replace($":{one.Id}]", $":${other}]", Is).Replace($"\" :{one.Id} ", $"\" :${other} ", Is)
                    .Replace($"redir={one.Id} ", $"redir=${other} ", Is);
                if (reply == $":{one.Id}") reply = $":${other}";
            }

            // Of CLIENT INFO what tracking has to say.
            if (reply.Contains("flags=", Is))
                reply = string.Join(' ', reply.Split(' ').Where(field =>
                    field.StartsWith("flags=", Is) || field.StartsWith("redir=", Is)));
            Log.Add($"{what} {reply}");
        }
    }
}
