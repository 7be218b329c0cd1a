using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Rules of users, as the reference reads and shows them.</summary>
public sealed class UserRuleTests
{
    private const string TooMany = "A user has at most 10000 rules and passwords";

    /// <summary>Rules for one user, one SETUSER after another; each is refused or taken as there.</summary>
    public static TheoryData<string> Conversations =>
    [
        "|on|off|on >pw >pw >other|nopass|<pw|>pw|resetpass|nopass >pw",
        "#c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2|#zz|!zz|#C3AB|!"
            + "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2|<nothing",
        "~a ~b* %R~c %W~d %RW~e|~a|%R~d|%wr~c|%x~a|%RR~a|~*|~a|resetkeys|~x y|allkeys|%R~x|RESETKEYS",
        "&a &b*|&a|&*|&c|resetchannels|allchannels|ALLCHANNELS &x",
        "+@all|-@all|+get|allcommands -get|nocommands|ALLCOMMANDS|-@all +@read|+@all -@write|-@ALL +@STRING",
        "-@all +config|-@all +config\\get|+config\\get\\x|+config\\|+config\\nosuch|-config\\nosuch",
        "+select\\0|-select\\0|+nosuch|-nosuch|+nosuch\\x|+\\get|+|-|+@nosuch|-@nosuch|+@",
        "(+get ~x)|(|(+get|(+get on)|(+nosuch)|)|()|( +get   ~y )|(~a %R~b &c +@all)|clearselectors",
        "on >pw ~a &b +@all (+get)|reset|reset on",
        "sanitize-payload|skip-sanitize-payload|SANITIZE-PAYLOAD|nonsense|on nonsense|",
        "+get nonsense|>pw ~x nonsense",
    ];

    [Theory, MemberData(nameof(Conversations))]
    public void Rules_are_read_and_shown_as_by_the_reference(string rules)
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        foreach (int resp in new[] { 2, 3 })
        {
            using var theirs = redis.Server.Connect(resp);
            using var ours = kv.Connect(resp);
            theirs.Command("ACL DELUSER u");
            ours.Command("ACL DELUSER u");
            foreach (string each in rules.Split('|'))
            {
                // In place of a bar, which divides the lines.
                byte[][] words = [.. $"ACL SETUSER u {each.Replace('\\', '|')}".Split(' ',
                    each == "~x y" ? 4 : int.MaxValue, StringSplitOptions.RemoveEmptyEntries).Select(RespText.Bytes)];
                Assert.Equal(theirs.Command(words).ToString(), ours.Command(words).ToString());
                Assert.Equal(theirs.Command("ACL GETUSER u").ToString(), ours.Command("ACL GETUSER u").ToString());
                Assert.Equal(Line(theirs), Line(ours));
            }

            theirs.Command("ACL DELUSER u");
        }
    }

    // CVE-2024-51741 and an empty pattern: the reference of today refuses the first, too.
    [Theory, InlineData("%R"), InlineData("%~"), InlineData("%~x"), InlineData("~"), InlineData("%RW"), InlineData("%")]
    public void Known_G05_a_pattern_that_is_none_is_refused_and_the_user_is_as_before(string rule)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u on ~a +get");
        string before = Line(client);
        Assert.Equal($"-ERR Error in ACL SETUSER modifier '{rule}': Syntax error",
            client.Command($"ACL SETUSER u -get {rule} off").ToString());
        Assert.Equal(before, Line(client));
    }

    // 7.0 works the shortest rules out again, in an order that changes from start to start; 7.2 keeps what was said.
    [Fact]
    public void The_rules_for_commands_stay_in_the_order_in_which_they_were_given()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u +get +set +@read -config|get +get -@write +config -get");
        Assert.Contains(" -@all +set +@read -@write +config -get", Line(client), StringComparison.Ordinal);
        client.Ok("ACL SETUSER u +@all -set");
        Assert.Contains(" +@all -set", Line(client), StringComparison.Ordinal);
    }

    [Fact]
    public void Names_with_spaces_or_zeros_are_refused_and_all_others_are_names()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = redis.Server.Connect();
        using var ours = kv.Connect();
        foreach (string name in new[] { "a b", "a\0", "tab\t", "é\u0001", "x\"y", "Default" })
        {
            byte[][] words = ["ACL"u8.ToArray(), "SETUSER"u8.ToArray(), RespText.Bytes(name), "on"u8.ToArray()];
            Assert.Equal(theirs.Command(words).ToString(), ours.Command(words).ToString());
        }

        Assert.Equal(theirs.Command("ACL USERS").ToString(), ours.Command("ACL USERS").ToString());
        string[] names = ["ACL", "DELUSER", "é\u0001", "x\"y", "Default", "none"];
        byte[][] all = [.. names.Select(RespText.Bytes)];
        Assert.Equal(theirs.Command(all).ToString(), ours.Command(all).ToString());
    }

    [Theory, InlineData("+get|a  b"), InlineData("+get|a b"), InlineData("+get|a\tb"), InlineData("+get|a\n"),
        InlineData("+get|\0"), InlineData("(~a) +get)"), InlineData("(+get|a))")]
    public void A_rule_that_could_not_be_read_again_is_refused_and_the_user_is_as_before(string rule)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u on ~a +get");
        string before = Line(client);
        Assert.EndsWith("': Syntax error", Say(client, "ACL", "SETUSER", "u", rule).ToString(),
            StringComparison.Ordinal);
        Assert.Equal(before, Line(client));
        client.Ok("ACL SETUSER u +set");
        Assert.Equal(before + " +set", Line(client));
        Assert.Equal("-ERR Usernames can't be empty", Say(client, "ACL", "SETUSER", "", "on").ToString());
    }

    [Theory, InlineData("~"), InlineData("%R~"), InlineData("&")]
    public void A_pattern_of_more_than_1024_bytes_is_refused(string sign)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok($"ACL SETUSER u {sign}{new string('a', 1024)}");
        Assert.EndsWith("': The pattern is longer than 1024 bytes",
            client.Command($"ACL SETUSER v {sign}{new string('a', 1025)}").ToString(), StringComparison.Ordinal);
        Assert.Equal("[\"default\" \"u\"]", client.Ok("ACL USERS").ToString());
    }

    [Fact]
    public void Of_first_arguments_only_ASCII_letters_are_compared_in_any_case()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        foreach (TestServer server in new[] { redis.Server, kv })
        {
            using var client = server.Connect();
            client.Ok("ACL DELUSER u v");
            Assert.Equal("+OK", Say(client, "ACL", "SETUSER", "u", "on", "+echo|\u00C9aB").ToString());
            string[] words = Line(client).Split(' ')[2..];
            Assert.Equal("+OK", Say(client, ["ACL", "SETUSER", "v", .. words]).ToString());
            foreach (string user in new[] { "u", "v" })
            {
                Assert.Equal("+OK", Say(client, "ACL", "DRYRUN", user, "ECHO", "\u00C9Ab").ToString());
                Assert.NotEqual("+OK", Say(client, "ACL", "DRYRUN", user, "ECHO", "\u00E9ab").ToString());
            }

            client.Ok("ACL DELUSER u v");
        }
    }

    // Each call of a client may be compared with all of them.
    [Fact]
    public void A_user_has_no_more_than_ten_thousand_rules()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        Many("~a", 4000);
        Many("&a", 3000);
        Many(">a", 1000);
        Many("+get|a", 1000);
        string before = Line(client);
        // The first rule is about all commands.
        Assert.Equal($"-ERR Error in ACL SETUSER modifier '({Words("~b", 1000)})': {TooMany}",
            Say(client, "ACL", "SETUSER", "u", "on", $"({Words("~b", 1000)})").ToString());
        Assert.Equal(before, Line(client));
        Assert.Equal("+OK", Say(client, "ACL", "SETUSER", "u", $"({Words("~b", 998)})").ToString());
        Assert.Equal($"-ERR Error in ACL SETUSER modifier '&b': {TooMany}",
            client.Command("ACL SETUSER u &b").ToString());
        client.Ok("ACL SETUSER u ~a1");
        client.Ok("ACL SETUSER u resetchannels &b clearselectors");
        Assert.Equal("-ERR A rule or name is longer than 1048576 bytes",
            Say(client, "ACL", "SETUSER", "u", ">" + new string('x', 1024 * 1024)).ToString());
        Assert.EndsWith("': The first-arg is longer than 1024 bytes",
            Say(client, "ACL", "SETUSER", "u", "+get|" + new string('x', 1025)).ToString(), StringComparison.Ordinal);

        void Many(string rule, int count) =>
            Assert.Equal("+OK", Say(client, ["ACL", "SETUSER", "u", .. Words(rule, count).Split(' ')]).ToString());

        static string Words(string rule, int count) =>
            string.Join(' ', Enumerable.Range(0, count).Select(number => $"{rule}{number}"));
    }

    [Fact]
    public void Passwords_are_equal_byte_for_byte()
    {
        using var kv = KvInstance.Start("--requirepass", "sécret");
        using var client = kv.Connect();
        foreach (string wrong in new[] { "sécre", "secret", "" })
            Assert.True(client.Command("AUTH"u8.ToArray(), System.Text.Encoding.UTF8.GetBytes(wrong)).IsError);
        Assert.Equal("+OK", client.Command("AUTH"u8.ToArray(), "sécret"u8.ToArray()).ToString());
    }

    private static Reply Say(RespClient client, params string[] words) =>
        client.Command([.. words.Select(RespText.Bytes)]);

    private static string Line(RespClient client) => string.Join('\n', client.Ok("ACL LIST").Items!
        .Select(item => item.String).Where(line => line.StartsWith("user u ", StringComparison.Ordinal)));
}
