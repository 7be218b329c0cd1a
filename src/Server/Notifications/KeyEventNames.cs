using System.Text;

namespace Kv.Server.Notifications;

/// <summary>The names of events on the wire, and the letter that asks for each.</summary>
/// <remarks>Clients go by these names: add, never change.</remarks>
internal static class KeyEventNames
{
    // A class, then its events, in the order of KeyEvent.
    private static readonly (KeyEventClasses Class, string Names)[] Rows =
    [
        (KeyEventClasses.Generic, "del rename_from rename_to move_from move_to copy_to restore expire persist"),
        (KeyEventClasses.String, "set append setrange incrby incrbyfloat setbit pfadd"),
        (KeyEventClasses.List, "lpush rpush linsert lset lrem ltrim lpop rpop sortstore"),
        (KeyEventClasses.Hash, "hset hdel hincrby hincrbyfloat hexpire hexpired hpersist"),
        (KeyEventClasses.Set, "sadd srem spop sinterstore sunionstore sdiffstore"),
        (KeyEventClasses.SortedSet, "zadd zincr zrem zremrangebyscore zremrangebyrank zremrangebylex zpopmin zpopmax "
            + "zunionstore zinterstore zdiffstore zrangestore georadiusstore geosearchstore"),
        (KeyEventClasses.Stream, "xadd xtrim xdel xsetid xgroup-create xgroup-setid xgroup-createconsumer "
            + "xgroup-delconsumer xgroup-destroy"),
        (KeyEventClasses.Expired, "expired"), (KeyEventClasses.Evicted, "evicted"),
        (KeyEventClasses.Missed, "keymiss"), (KeyEventClasses.New, "new"),
    ];

    private static readonly (KeyEventClasses Class, byte[] Name)[] Events =
    [
        .. from row in Rows from name in row.Names.Split(' ') select (row.Class, Encoding.ASCII.GetBytes(name)),
    ];

    public static ReadOnlySpan<byte> NameOf(KeyEvent what) => Events[(int)what].Name;

    public static KeyEventClasses ClassOf(KeyEvent what) => Events[(int)what].Class;

    /// <summary>What the letters of the option ask for; nothing without K or E.</summary>
    public static KeyEventClasses Parse(string letters)
    {
        var asked = KeyEventClasses.None;
        foreach (char letter in letters) asked |= ClassOf(letter);
        return (asked & KeyEventClasses.Channels) == 0 ? KeyEventClasses.None : asked;
    }

    private static KeyEventClasses ClassOf(char letter) => letter switch
    {
        'K' => KeyEventClasses.Keyspace,
        'E' => KeyEventClasses.Keyevent,
        'g' => KeyEventClasses.Generic,
        '$' => KeyEventClasses.String,
        'l' => KeyEventClasses.List,
        's' => KeyEventClasses.Set,
        'h' => KeyEventClasses.Hash,
        'z' => KeyEventClasses.SortedSet,
        'x' => KeyEventClasses.Expired,
        'e' => KeyEventClasses.Evicted,
        't' => KeyEventClasses.Stream,
        'd' => KeyEventClasses.Module,
        'm' => KeyEventClasses.Missed,
        'n' => KeyEventClasses.New,
        'A' => KeyEventClasses.All,
        _ => throw new ArgumentOutOfRangeException(nameof(letter), letter, "no class has this letter"),
    };
}
