using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Text;
using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>Reads the rules of a user, one after another, and makes a snapshot of what they say together.</summary>
/// <remarks>Words have a char for each byte. Threads: one.</remarks>
internal sealed class UserBuilder
{
    /// <summary>Rules and passwords of one user: each call of a client may be compared with all of them, and each
    /// further one with all that there are.</summary>
    public const int RulesMax = 10_000;

    /// <summary>A longer rule is refused before it is looked at.</summary>
    public const int RuleBytesMax = 1024 * 1024;

    private readonly CommandTable _table;
    private readonly bool _hasAllChannels;
    private readonly List<byte[]> _hashes = [];
    private readonly HashSet<string> _hashesHeld = new(StringComparer.Ordinal);     // those, a char for each byte
    private readonly List<Selector> _others = [];
    private SelectorBuilder _own;
    private bool _isOn, _needsNoPassword;
    private string _payloadText = "";
    private int _othersSize;

    /// <summary>Begins a new user, who may do nothing.</summary>
    /// <param name="hasAllChannels">acl-pubsub-default.</param>
    public UserBuilder(CommandTable table, bool hasAllChannels)
    {
        _table = table;
        _hasAllChannels = hasAllChannels;
        _own = new SelectorBuilder(table, hasAllChannels);
    }

    /// <summary>Begins with the rules that a user has.</summary>
    public UserBuilder(CommandTable table, bool hasAllChannels, UserRules rules)
        : this(table, hasAllChannels)
    {
        _isOn = rules.IsOn;
        _payloadText = rules.PayloadText;
        foreach (byte[] hash in rules.PasswordHashes) AddHash(hash);
        _needsNoPassword = rules.NeedsNoPassword;
        _own = new SelectorBuilder(table, rules.Selectors[0]);
        _others.AddRange(rules.Selectors.Skip(1));
        _othersSize = _others.Sum(static other => other.Size);
    }

    public UserRules Build() =>
        new(_isOn, _needsNoPassword, _payloadText, [.. _hashes], [_own.Build(), .. _others]);

    /// <summary>Joins words from one that begins with a parenthesis to the one that closes it.</summary>
    /// <returns>Null with the word whose parenthesis is not closed.</returns>
    public static List<string>? Join(IReadOnlyList<string> words, out string unmatched)
    {
        var rules = new List<string>(words.Count);
        unmatched = "";
        for (int i = 0; i < words.Count; i++)
        {
            string rule = words[i];
            if (rule.StartsWith('(') && !rule.EndsWith(')'))
            {
                unmatched = rule;
                var whole = new StringBuilder(rule);
                do
                {
                    if (++i == words.Count) return null;
                    whole.Append(' ').Append(words[i]);
                }
                while (!words[i].EndsWith(')'));
                rule = whole.ToString();
            }

            rules.Add(rule);
        }

        return rules;
    }

    /// <summary>A wrong rule as a log may show it: nothing of what is, or was meant to be, a password.</summary>
    public static string Shown(string rule)
    {
        bool isPlain = Words(rule.TrimStart('(')).All(static word => "+-~%&".Contains(word[0]));
        return isPlain ? rule : "***";
    }

    /// <summary>Applies rules.</summary>
    /// <returns>False with the first rule that is wrong, and why.</returns>
    public bool TryApply(IEnumerable<string> rules, [NotNullWhen(false)] out string? rule,
        [NotNullWhen(false)] out string? error)
    {
        foreach (string each in rules)
        {
            error = Apply(each) ?? (HasTooMany(_own.Size) ? RuleError.TooMany : null);
            rule = each;
            if (error != null) return false;
        }

        rule = error = null;
        return true;
    }

    private bool HasTooMany(int size) => _hashes.Count + _othersSize + size > RulesMax;

    private string? Apply(string rule)
    {
        switch (rule.ToLowerInvariant())
        {
            case "on":
                _isOn = true;
                return null;
            case "off":
                _isOn = false;
                return null;
            case "nopass":
                ResetPasswords();
                _needsNoPassword = true;
                return null;
            case "skip-sanitize-payload" or "sanitize-payload":
                _payloadText = rule.ToLowerInvariant();
                return null;
            case "resetpass":
                ResetPasswords();
                return null;
            case "clearselectors":
                ClearSelectors();
                return null;
            case "reset":
                Reset();
                return null;
        }

        return rule.Length == 0 ? RuleError.Syntax : rule[0] switch
        {
            '>' => AddHash(SHA256.HashData(Encoding.Latin1.GetBytes(rule[1..]))),
            '<' => RemoveHash(SHA256.HashData(Encoding.Latin1.GetBytes(rule[1..]))),
            '#' => TryReadHash(rule, out byte[] hash) ? AddHash(hash) : RuleError.BadHash,
            '!' => TryReadHash(rule, out byte[] hash) ? RemoveHash(hash) : RuleError.BadHash,
            '(' when rule[^1] == ')' => AddSelector(rule[1..^1]),
            _ => _own.Apply(rule),
        };
    }

    private void ResetPasswords()
    {
        _needsNoPassword = false;
        _hashes.Clear();
        _hashesHeld.Clear();
    }

    private void Reset()
    {
        ResetPasswords();
        _isOn = false;
        _payloadText = "sanitize-payload";
        ClearSelectors();
        _own = new SelectorBuilder(_table, _hasAllChannels);
    }

    private void ClearSelectors()
    {
        _others.Clear();
        _othersSize = 0;
    }

    private string? AddHash(byte[] hash)
    {
        Debug.Assert(hash.Length == SHA256.HashSizeInBytes, "only hashes of passwords are kept");
        _needsNoPassword = false;
        if (_hashesHeld.Add(Encoding.Latin1.GetString(hash))) _hashes.Add(hash);
        Debug.Assert(_hashes.Count == _hashesHeld.Count, "each password is kept once");
        return null;
    }

    private string? RemoveHash(byte[] hash)
    {
        if (!_hashesHeld.Remove(Encoding.Latin1.GetString(hash))) return RuleError.NoSuchPassword;
        _hashes.RemoveAll(each => each.AsSpan().SequenceEqual(hash));
        Debug.Assert(_hashes.Count == _hashesHeld.Count, "each password is kept once");
        return null;
    }

    private static bool TryReadHash(string rule, out byte[] hash)
    {
        hash = [];
        var text = rule.AsSpan(1);
        if (text.Length != 2 * SHA256.HashSizeInBytes || text.ContainsAnyExcept("0123456789abcdef")) return false;
        hash = Convert.FromHexString(text);
        return true;
    }

    private string? AddSelector(string rules)
    {
        var selector = new SelectorBuilder(_table, _hasAllChannels);
        foreach (string rule in Words(rules))
        {
            // Would end the selector too early in the text that makes the user again.
            if (rule.EndsWith(')')) return RuleError.Syntax;
            if (selector.Apply(rule) is { } error) return error;
            if (HasTooMany(selector.Size)) return RuleError.TooMany;
        }

        _others.Add(selector.Build());
        _othersSize += selector.Size;
        return null;
    }

    /// <summary>The words between spaces.</summary>
    /// <param name="countMax">The last of so many has all the rest.</param>
    public static string[] Words(string text, int countMax = int.MaxValue) =>
        text.Split([' ', '\t', '\n', '\v', '\f', '\r'], countMax, StringSplitOptions.RemoveEmptyEntries);
}
