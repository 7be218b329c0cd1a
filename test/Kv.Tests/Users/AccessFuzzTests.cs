using System.Text.RegularExpressions;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Random rules and calls, and all calls while one kind of right is missing: what a user may do is what
/// redis-server's ACL DRYRUN says, and it is the same where the call is really made: by itself, in EXEC, in a script,
/// in a function.</summary>
public sealed partial class AccessFuzzTests
{
    private const int CallsPerUser = 24;

    /// <summary>Calls that end their connection, change what it may do, or are for others than the caller.</summary>
    private static readonly string[] NotMade =
        ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "AUTH", "HELLO",
            "RESET", "QUIT", "MULTI", "DISCARD", "MIGRATE", "WATCH", "EXEC"];

    private const string Library = "#!lua name=access\nredis.register_function('access', "
        + "function(keys, args) return redis.pcall(unpack(args)) end)";

    private static readonly string[] AlwaysAllowed = ["AUTH", "HELLO", "RESET", "QUIT"];

    /// <summary>One kind of right is missing; at last none is.</summary>
    private static readonly string[][] MissingRights =
    [
        ["~*", "&*"], ["+@all", "&*"], ["+@all", "&*", "%R~*"], ["+@all", "&*", "%W~*"], ["+@all", "~*"],
        ["+@all", "~*", "&*"],
    ];

    /// <summary>What the ways of making a call need by themselves.</summary>
    private static readonly string[] Ways = ["+multi", "+exec", "+eval", "+fcall", "+select"];

    private static readonly string[] NotInScripts = ["EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"];

    [Fact]
    public void Verdicts_are_those_of_the_reference()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = redis.Server.Connect();
        using var ours = kv.Connect();
        var differing = CategoriesThatDiffer(theirs, ours);
        var random = Seed.NewRandom(1701);
        int pairs = 0;
        for (int round = TimeBudget.Count(200); round > 0; round--)
        {
            string[] rules = AccessCalls.Rules(random);
            string[] set = ["ACL", "SETUSER", "fuzz", .. rules];
            string told = Say(theirs, set).ToString();
            Assert.True(told == Say(ours, set).ToString(), $"{string.Join(' ', rules)}: {told}. {Seed.Hint}");
            if (told != "+OK") continue;
            for (int i = 0; i < CallsPerUser; i++)
            {
                string[] call = AccessCalls.Call(random);
                if (differing.Contains(NameOf(call))) continue;
                string[] dryRun = ["ACL", "DRYRUN", "fuzz", .. call];
                string expected = Verdict(Say(theirs, dryRun)), actual = Verdict(Say(ours, dryRun));
                Assert.True(expected == actual,
                    $"[{string.Join(' ', rules)}] {string.Join(' ', call)}: {expected} expected, was {actual}. "
                    + Seed.Hint);
                pairs++;
            }
        }

        Say(theirs, ["ACL", "DELUSER", "fuzz"]);
        TestContext.Current.TestOutputHelper?.WriteLine($"{pairs} pairs, {Seed.Hint}");
        Assert.True(pairs > 1000, $"only {pairs} pairs");
    }

    [Fact]
    public void What_ACL_LIST_shows_makes_a_user_of_the_same_rights_here_and_there()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = redis.Server.Connect();
        using var ours = kv.Connect();
        var differing = CategoriesThatDiffer(theirs, ours);
        var random = Seed.NewRandom(1702);
        for (int round = TimeBudget.Count(40); round > 0; round--)
        {
            string[] rules = AccessCalls.Rules(random);
            if (Say(ours, ["ACL", "SETUSER", "fuzz", .. rules]).IsError) continue;
            string line = Say(ours, ["ACL", "LIST"]).Items!.Select(item => item.String)
                .Single(item => item.StartsWith("user fuzz ", StringComparison.Ordinal));
            string[] words = line.Split(' ')[2..];
            Assert.Equal("+OK", Say(theirs, ["ACL", "SETUSER", "fuzz", "reset", .. words]).ToString());
            Assert.Equal("+OK", Say(ours, ["ACL", "SETUSER", "again", "reset", .. words]).ToString());
            for (int i = 0; i < CallsPerUser; i++)
            {
                string[] call = AccessCalls.Call(random);
                if (differing.Contains(NameOf(call))) continue;
                string first = Verdict(Say(ours, ["ACL", "DRYRUN", "fuzz", .. call]));
                string why = $"{line}: {string.Join(' ', call)}. {Seed.Hint}";
                Assert.True(first == Verdict(Say(ours, ["ACL", "DRYRUN", "again", .. call])), why);
                Assert.True(first == Verdict(Say(theirs, ["ACL", "DRYRUN", "fuzz", .. call])), why);
            }
        }

        Say(theirs, ["ACL", "DELUSER", "fuzz"]);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void The_verdict_is_the_same_by_itself_in_EXEC_and_in_a_script(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var admin = kv.Connect();
        Say(admin, ["FUNCTION", "LOAD", Library]);
        var random = Seed.NewRandom(1703);
        int denied = 0, allowed = 0;
        for (int round = TimeBudget.Count(60); round > 0; round--)
        {
            Assert.Equal("+OK", Say(admin, ["ACL", "SETUSER", "fuzz", "reset", "on", "nopass", "~*", "&*", "+@all"])
                .ToString());
            using var client = kv.Connect();
            client.Ok("AUTH fuzz x");
            string[][] calls = [.. Enumerable.Range(0, CallsPerUser).Select(_ => AccessCalls.Call(random))
                .Where(call => !NotMade.Contains(call[0].ToUpperInvariant()))];
            client.Ok("MULTI");
            foreach (string[] call in calls) Say(client, call);
            string[] rules = [.. AccessCalls.Rules(random), .. Ways];
            if (Say(admin, ["ACL", "SETUSER", "fuzz", .. rules]).IsError) continue;
            bool[] verdicts = [.. calls.Select(
                call => Verdict(Say(admin, ["ACL", "DRYRUN", "fuzz", .. call])) == "OK")];
            var inExec = Say(client, ["EXEC"]).Items!;
            for (int i = 0; i < calls.Length; i++)
            {
                string why = $"[{string.Join(' ', rules)}] {string.Join(' ', calls[i])}. {Seed.Hint}";
                Check(inExec[i], verdicts[i], "EXEC " + why);
                client.Ok("SELECT 0");
                CheckAlone(client, calls[i], verdicts[i], why);
                _ = verdicts[i] ? allowed++ : denied++;
            }
        }

        Assert.True(allowed > 100 && denied > 100, $"{allowed} allowed, {denied} denied");
        kv.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void Known_G06_each_command_has_the_references_verdict_wherever_it_is_called()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = redis.Server.Connect();
        using var admin = kv.Connect();
        var differing = CategoriesThatDiffer(theirs, admin);
        Say(admin, ["FUNCTION", "LOAD", Library]);
        int denied = 0, allowed = 0;
        foreach (string[] rights in MissingRights)
        {
            string[] set = ["ACL", "SETUSER", "fuzz", "reset", "on", "nopass", .. rights, .. Ways];
            Assert.Equal(("+OK", "+OK"), (Say(theirs, set).ToString(), Say(admin, set).ToString()));
            using var client = kv.Connect();
            client.Ok("AUTH fuzz x");
            foreach (string[] call in AccessCalls.Each.Where(call => !differing.Contains(NameOf(call))))
            {
                string why = $"[{string.Join(' ', rights)}] {string.Join(' ', call)}";
                string verdict = Verdict(Say(theirs, ["ACL", "DRYRUN", "fuzz", .. call]));
                string ours = Verdict(Say(admin, ["ACL", "DRYRUN", "fuzz", .. call]));
                Assert.True(verdict == ours, $"{why}: {verdict} expected, was {ours}");
                if (NotMade.Contains(call[0])) continue;
                bool isAllowed = verdict == "OK";
                client.Ok("MULTI");
                var queued = Say(client, call);
                var exec = Say(client, ["EXEC"]);
                // Refused when it is queued, or queued and run.
                Check(exec.IsError || queued.IsError ? queued : exec.Items!.Single(), isAllowed, "EXEC " + why);
                client.Ok("SELECT 0");
                CheckAlone(client, call, isAllowed, why);
                _ = isAllowed ? allowed++ : denied++;
            }
        }

        Say(theirs, ["ACL", "DELUSER", "fuzz"]);
        Assert.True(allowed > 400 && denied > 300, $"{allowed} allowed, {denied} denied");
    }

    // Clients that are not logged in log in at NOAUTH, and give up at NOPERM.
    [Fact]
    public void Known_G08_without_a_user_it_is_NOAUTH_and_without_the_right_it_is_NOPERM()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        using var admin = kv.Connect();
        admin.Ok("AUTH secret");
        admin.Ok("ACL SETUSER nobody on nopass");
        foreach (string[] call in AccessCalls.Each.Where(call => !AlwaysAllowed.Contains(call[0])))
        {
            string why = string.Join(' ', call);
            using var client = kv.Connect();
            Assert.StartsWith($"{why}: -NOAUTH ", $"{why}: {Say(client, call)}", StringComparison.Ordinal);
            client.Ok("AUTH nobody x");
            Assert.StartsWith($"{why}: -NOPERM ", $"{why}: {Say(client, call)}", StringComparison.Ordinal);
        }
    }

    private static void CheckAlone(RespClient client, string[] call, bool isAllowed, string why)
    {
        Check(Say(client, call), isAllowed, why);
        client.Ok("SELECT 0");
        if (NotInScripts.Contains(call[0].ToUpperInvariant())) return;
        CheckScript(client, ["EVAL", "return redis.pcall(unpack(ARGV))", "0", .. call], isAllowed, "EVAL " + why);
        CheckScript(client, ["FCALL", "access", "0", .. call], isAllowed, "FCALL " + why);
    }

    private static void Check(Reply reply, bool isAllowed, string why) =>
        Assert.True(isAllowed != (reply.IsError && reply.String.StartsWith("NOPERM ", StringComparison.Ordinal)),
            $"{(isAllowed ? "allowed" : "denied")}, but {reply}: {why}");

    private static void CheckScript(RespClient client, string[] script, bool isAllowed, string why)
    {
        var reply = Say(client, script);
        // Some commands no script may call: that is said first.
        if (reply.IsError && reply.String.StartsWith("ERR This Redis command is not allowed", StringComparison.Ordinal))
            return;
        Check(reply, isAllowed, why);
    }

    /// <summary>Commands of which the two servers say different categories, or which one of them does not
    /// have.</summary>
    private static HashSet<string> CategoriesThatDiffer(RespClient theirs, RespClient ours)
    {
        var expected = Categories(theirs);
        var actual = Categories(ours);
        HashSet<string> differing = [.. expected.Keys.Concat(actual.Keys).Distinct()
            .Where(name => expected.GetValueOrDefault(name) != actual.GetValueOrDefault(name))];
        Assert.DoesNotContain("get", differing);
        Assert.True(actual.Count - actual.Keys.Count(differing.Contains) > 200, "hardly anything can be compared");
        return differing;
    }

    private static Dictionary<string, string> Categories(RespClient client)
    {
        var all = new Dictionary<string, string>(StringComparer.Ordinal);
        foreach (var command in client.Ok("COMMAND").Items!) Add(command);
        return all;

        void Add(Reply command)
        {
            var fields = command.Items!;
            all[fields[0].String] = string.Join(' ',
                fields[6].Items!.Select(item => item.String).Order(StringComparer.Ordinal));
            foreach (var subcommand in fields[9].Items!) Add(subcommand);
        }
    }

    private static string NameOf(string[] call)
    {
        string name = call[0].ToLowerInvariant();
        return name is "object" or "xinfo" or "xgroup" or "memory" or "pubsub" or "client" or "config" or "slowlog"
            or "script" or "function" or "acl" or "module" or "cluster" || (name == "command" && call.Length > 1)
            ? $"{name}|{call[1].ToLowerInvariant()}" : name;
    }

    // The words differ from version to version, but not what they say.
    private static string Verdict(Reply reply)
    {
        string text = reply.String;
        var denial = Denial().Match(text);
        return denial.Success ? denial.Groups[1].Value : text.Replace("ERR ", "", StringComparison.Ordinal);
    }

    private static Reply Say(RespClient client, string[] words) =>
        client.Command([.. words.Select(RespText.Bytes)]);

    [GeneratedRegex("^(?:This user|User fuzz|User again) has no permissions to (?:run|access) the (.*)$")]
    private static partial Regex Denial();
}
