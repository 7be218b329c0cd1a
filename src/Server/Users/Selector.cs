using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Patterns;

namespace Kv.Server.Users;

/// <summary>Some commands, on some keys and channels: a call is allowed where one selector of the user allows all of
/// it. Immutable.</summary>
internal sealed class Selector
{
    /// <summary>More patterns of keys are not compared one by one.</summary>
    private const int ComparedMax = 8;

    private readonly CommandSet _commands;
    private readonly CommandRule[] _rules;
    private readonly KeyPattern[] _keys;
    private readonly byte[][] _channels;
    private KeyPatternIndex? _index;

    /// <param name="rules">What has made the commands, beginning with +@all or -@all.</param>
    public Selector(CommandSet commands, CommandRule[] rules, bool hasAllKeys, KeyPattern[] keys, bool hasAllChannels,
        byte[][] channels)
    {
        Debug.Assert(rules.Length > 0 && rules[0].Name == "@all", "the first rule is about all commands");
        _commands = commands;
        _rules = rules;
        HasAllKeys = hasAllKeys;
        _keys = keys;
        HasAllChannels = hasAllChannels;
        _channels = channels;
        AllowsEverything = hasAllKeys && hasAllChannels && commands.IsAll;
    }

    /// <summary>How many rules it takes to make it.</summary>
    public int Size => _rules.Length + _keys.Length + _channels.Length;

    public bool AllowsEverything { get; }

    public bool HasAllKeys { get; }

    public bool HasAllChannels { get; }

    /// <summary>"+@all -get".</summary>
    public string CommandText => string.Join(' ', _rules);

    /// <summary>"~a* %R~b*".</summary>
    public string KeyText => HasAllKeys ? "~*" : string.Join(' ', _keys.Select(Describe));

    /// <summary>"&amp;news &amp;chat:*".</summary>
    public string ChannelText =>
        HasAllChannels ? "&*" : string.Join(' ', _channels.Select(each => "&" + Encoding.Latin1.GetString(each)));

    /// <summary>All of it, as a rule: what ACL LIST shows, and a file has.</summary>
    public string Text
    {
        get
        {
            string channels = HasAllChannels || _channels.Length == 0 ? ChannelText : " " + ChannelText;
            string[] parts = [KeyText, HasAllChannels ? channels : "resetchannels" + channels, CommandText];
            return string.Join(' ', parts.Where(part => part.Length > 0));
        }
    }

    internal CommandSet Commands => _commands;

    internal ReadOnlySpan<CommandRule> Rules => _rules;

    internal ReadOnlySpan<KeyPattern> Keys => _keys;

    internal ReadOnlySpan<byte[]> Channels => _channels;

    /// <summary>Whether the selector allows all of a call.</summary>
    /// <param name="command">The row of the command or subcommand.</param>
    /// <param name="from">Index of the command's name.</param>
    public Verdict Check(Command command, in CommandArguments args, int from)
    {
        if (!_commands[command.Id] && !IsAllowedOtherwise(command, args, from)) return new(Denial.Command, 0);
        int denied = HasAllKeys || command.Keys.Length == 0 ? 0 : FindDeniedKey(command, args, from);
        if (denied != 0) return new(Denial.Key, denied);
        denied = HasAllChannels || command.Channels.Last == 0 ? 0 : FindDeniedChannel(command.Channels, args, from);
        return denied != 0 ? new(Denial.Channel, denied) : default;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool AllowsKey(ReadOnlySpan<byte> key, KeyRights needed)
    {
        if (HasAllKeys) return true;
        if (_keys.Length > ComparedMax) return IsInIndex(key, needed);
        foreach (var pattern in _keys)
            if (pattern.Allows(key, needed)) return true;
        return false;
    }

    /// <summary>The first of the patterns that allow keys to be used with some rights and are short prefixes, among
    /// those that are looked at.</summary>
    /// <returns>False when there is none.</returns>
    public bool TryPrefix(KeyRights needed, out KeyPrefix prefix)
    {
        foreach (var pattern in _keys.AsSpan(0, Math.Min(_keys.Length, ComparedMax)))
        {
            if (!pattern.IsShortPrefix || (pattern.Rights & needed) != needed) continue;
            prefix = pattern.Prefix;
            return true;
        }

        prefix = default;
        return false;
    }

    /// <summary>Whether every key may be read.</summary>
    public bool ReadsAllKeys => HasAllKeys || Array.Exists(_keys,
        static pattern => pattern.Text.SequenceEqual("*"u8) && (pattern.Rights & KeyRights.Read) != 0);

    public bool AllowsChannel(ReadOnlySpan<byte> channel, bool isPattern)
    {
        if (HasAllChannels) return true;
        foreach (byte[] pattern in _channels)
        {
            if (isPattern ? channel.SequenceEqual(pattern) : GlobPattern.IsMatch(pattern, channel)) return true;
        }

        return false;
    }

    // Made when it is first asked, which most users never are: an ACL file may have very many.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool IsInIndex(ReadOnlySpan<byte> key, KeyRights needed)
    {
        // Volatile: whoever sees the index sees what is in it. Of two that find none both make the same.
        var index = Volatile.Read(ref _index);
        if (index == null) Volatile.Write(ref _index, index = new KeyPatternIndex(_keys));
        return index.Allows(key, needed);
    }

    private static string Describe(KeyPattern pattern) =>
        pattern.Rights switch { KeyRights.All => "~", KeyRights.Read => "%R~", _ => "%W~" }
        + Encoding.Latin1.GetString(pattern.Text);

    // Who is to log in must be able to.
    private bool IsAllowedOtherwise(Command command, in CommandArguments args, int from)
    {
        if ((command.Flags & CommandFlags.NoAuth) != 0) return true;
        if (args.Count - from < 2) return false;
        foreach (byte[] word in _commands.FirstArgumentsOf(command.Id))
            if (CommandName.Equal(word, args[from + 1].Span)) return true;
        return false;
    }

    private int FindDeniedKey(Command command, in CommandArguments args, int from)
    {
        foreach (var spec in command.Keys)
        {
            if ((spec.Access & KeyAccess.NotKey) != 0 || spec.Start == KeyStart.Unknown
                || KeyFinder.Find(spec, args, from, out var range) != KeySearch.Found) continue;
            var needed = KeyNeeds.Of(KeyFinder.Access(spec, args, from));
            int index = range.First;
            for (int i = 0; i < range.Count; i++, index += range.Step)
                if (!AllowsKey(args[from + index].Span, needed)) return index;
        }

        int stored = command.Name == "SORT" ? KeyFinder.StoredBySort(args, from) : 0;
        return stored != 0 && !AllowsKey(args[stored].Span, KeyRights.Write) ? stored - from : 0;
    }

    private int FindDeniedChannel(ChannelUse use, in CommandArguments args, int from)
    {
        int last = use.Last < 0 ? args.Count - from + use.Last : use.Last;
        for (int i = 1; i <= last; i++)
            if (!AllowsChannel(args[from + i].Span, use.IsPattern)) return i;
        return 0;
    }
}
