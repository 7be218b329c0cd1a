using System.Diagnostics;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Patterns;

namespace Kv.Server.Users;

/// <summary>Reads the rules of a selector, one word after another.</summary>
/// <remarks>Words have a char for each byte. Threads: one.</remarks>
internal sealed class SelectorBuilder
{
    private const string All = "@all";

    private readonly CommandTable _table;
    private readonly CommandSet _commands;
    private readonly List<CommandRule> _rules = [new(false, All)];      // the first one is about all commands
    private readonly List<KeyPattern> _keys = [];
    private readonly Dictionary<string, int> _keysAt = [];      // where each pattern is among them
    private readonly List<byte[]> _channels = [];
    private bool _hasAllKeys, _hasAllChannels;

    /// <summary>Begins with nothing allowed but, perhaps, all channels.</summary>
    public SelectorBuilder(CommandTable table, bool hasAllChannels)
    {
        _table = table;
        _commands = new CommandSet(table.Count);
        _hasAllChannels = hasAllChannels;
    }

    /// <summary>Begins with what a selector allows.</summary>
    public SelectorBuilder(CommandTable table, Selector selector)
    {
        _table = table;
        _commands = selector.Commands.Copy();
        _rules = [.. selector.Rules];
        _hasAllKeys = selector.HasAllKeys;
        foreach (var key in selector.Keys) Add(Encoding.Latin1.GetString(key.Text), key);
        _hasAllChannels = selector.HasAllChannels;
        _channels.AddRange(selector.Channels);
    }

    /// <summary>How many rules there are so far.</summary>
    public int Size => _rules.Count + _keys.Count + _channels.Count;

    public Selector Build() =>
        new(_commands, [.. _rules], _hasAllKeys, [.. _keys], _hasAllChannels, [.. _channels]);

    /// <summary>Applies a rule.</summary>
    /// <returns>Null, or what is wrong with it; then nothing has changed.</returns>
    public string? Apply(string rule)
    {
        switch (rule.ToLowerInvariant())
        {
            case "allkeys" or "~*":
                _hasAllKeys = true;
                ClearKeys();
                return null;
            case "resetkeys":
                _hasAllKeys = false;
                ClearKeys();
                return null;
            case "allchannels" or "&*":
                _hasAllChannels = true;
                _channels.Clear();
                return null;
            case "resetchannels":
                _hasAllChannels = false;
                _channels.Clear();
                return null;
            case "allcommands" or "+@all":
                SetAll(isAllowed: true);
                return null;
            case "nocommands" or "-@all":
                SetAll(isAllowed: false);
                return null;
        }

        if (rule.Length == 0) return RuleError.Syntax;
        return rule[0] switch
        {
            '~' => AddKey(rule[1..], KeyRights.All),
            '%' => AddKeyWithRights(rule),
            '&' => AddChannel(rule[1..]),
            '+' or '-' when rule.Length > 1 && rule[1] == '@' => SetCategory(rule[2..], rule[0] == '+'),
            '+' => Allow(rule[1..]),
            '-' => Deny(rule[1..]),
            _ => RuleError.Syntax,
        };
    }

    private void SetAll(bool isAllowed)
    {
        _commands.SetAll(isAllowed);
        _rules.Clear();
        _rules.Add(new CommandRule(isAllowed, All));
    }

    private string? AddKeyWithRights(string rule)
    {
        var rights = KeyRights.None;
        for (int i = 1; i < rule.Length; i++)
        {
            if (rule[i] == '~') return rights == KeyRights.None ? RuleError.Syntax : AddKey(rule[(i + 1)..], rights);
            var right = char.ToUpperInvariant(rule[i]) switch
            {
                'R' => KeyRights.Read,
                'W' => KeyRights.Write,
                _ => KeyRights.None,
            };
            if (right == KeyRights.None || (rights & right) != 0) return RuleError.Syntax;
            rights |= right;
        }

        return RuleError.Syntax;        // CVE-2024-51741: no pattern follows
    }

    private string? AddKey(string pattern, KeyRights rights)
    {
        if (_hasAllKeys) return RuleError.AfterAllKeys;
        if (pattern.Length == 0 || HasSpaces(pattern)) return RuleError.Syntax;
        if (pattern.Length > GlobPattern.BytesMax) return RuleError.PatternTooLong;
        byte[] text = Encoding.Latin1.GetBytes(pattern);
        if (_keysAt.TryGetValue(pattern, out int at)) _keys[at] = new KeyPattern(text, _keys[at].Rights | rights);
        else Add(pattern, new KeyPattern(text, rights));
        return null;
    }

    private void Add(string pattern, KeyPattern key)
    {
        _keysAt.Add(pattern, _keys.Count);
        _keys.Add(key);
        Debug.Assert(_keysAt.Count == _keys.Count, "each pattern is there once");
    }

    private void ClearKeys()
    {
        _keys.Clear();
        _keysAt.Clear();
    }

    private string? AddChannel(string pattern)
    {
        if (_hasAllChannels) return RuleError.AfterAllChannels;
        if (HasSpaces(pattern)) return RuleError.Syntax;
        if (pattern.Length > GlobPattern.BytesMax) return RuleError.PatternTooLong;
        byte[] text = Encoding.Latin1.GetBytes(pattern);
        if (!_channels.Exists(each => each.AsSpan().SequenceEqual(text))) _channels.Add(text);
        return null;
    }

    private string? SetCategory(string name, bool isAllowed)
    {
        if (!AclCategoryRules.TryFind(name, out var category)) return RuleError.Unknown;
        _commands.Set(_table.OfCategory(category), isAllowed);
        Note("@" + name, isAllowed);
        return null;
    }

    private string? Allow(string name)
    {
        // A first argument with a space in it would be two rules in the text that makes the user again.
        if (HasSpaces(name)) return RuleError.Syntax;
        int bar = name.LastIndexOf('|');
        if (bar < 0)
        {
            if (Find(name) is not { } command) return RuleError.Unknown;
            Set(command, isAllowed: true);
            Note(name, isAllowed: true);
            return null;
        }

        if (Find(name[..bar]) is not { } container) return RuleError.Unknown;
        if (container.Container != null) return RuleError.FirstArgumentOfSubcommand;
        if (bar == name.Length - 1) return RuleError.Syntax;
        if (container.Subcommands.Length == 0)
        {
            if (name.Length - bar - 1 > GlobPattern.BytesMax) return RuleError.FirstArgumentTooLong;
            _commands.AddFirstArgument(container.Id, Upper(name[(bar + 1)..]));
        }
        else
        {
            if (Find(name) is not { } subcommand) return RuleError.Unknown;
            Set(subcommand, isAllowed: true);
        }

        Note(name, isAllowed: true);
        return null;
    }

    private string? Deny(string name)
    {
        if (Find(name) is not { } command) return RuleError.Unknown;
        Set(command, isAllowed: false);
        Note(name, isAllowed: false);
        return null;
    }

    private Command? Find(string name)
    {
        int bar = name.IndexOf('|');
        if (bar < 0) return _table.Find(name);
        return _table.Find(name[..bar])?.FindSubcommand(Encoding.Latin1.GetBytes(name[(bar + 1)..]));
    }

    private void Set(Command command, bool isAllowed)
    {
        Debug.Assert(command.Subcommands.Length == 0 || command.Container == null,
            "subcommands have none of their own");
        _commands.Set(command.Id, isAllowed);
        foreach (var subcommand in command.Subcommands) _commands.Set(subcommand.Id, isAllowed);
    }

    /// <summary>Keeps a rule in its place among the others, and drops those that it makes pointless.</summary>
    private void Note(string name, bool isAllowed)
    {
        // Not by a culture's rules: of a first argument each char is a byte.
        if (name.AsSpan().ContainsAnyInRange('A', 'Z'))
        {
            name = string.Concat(name.Select(letter =>
                char.IsAsciiLetterUpper(letter) ? (char)(letter | 0x20) : letter));
        }

        _rules.RemoveAll(rule => rule.Name == name
            || (rule.Name.StartsWith(name, StringComparison.Ordinal) && rule.Name[name.Length] == '|'));
        _rules.Add(new CommandRule(isAllowed, name));
        Debug.Assert(_rules[0].Name == All, "the first rule is about all commands");
    }

    private static byte[] Upper(string word)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(word);
        foreach (ref byte letter in bytes.AsSpan())
            if (letter is >= (byte)'a' and <= (byte)'z') letter -= 32;
        return bytes;
    }

    private static bool HasSpaces(string text) => text.AsSpan().IndexOfAny(" \t\n\v\f\r\0") >= 0;
}
